import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.*;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.*;
import java.util.jar.*;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.protocol.*;
import org.apache.kafka.common.protocol.Readable;

/** Kafka's own Java classes for `kipwire conform`: java -cp 'jars/*' KafkaClients.java. */
public class KafkaClients {
    static final ObjectMapper JSON = new ObjectMapper();
    static final JsonNodeFactory NODES = JsonNodeFactory.instance;
    /** The generated classes that have a JSON converter, by the names of their messages. */
    static final Map<String, Class<?>> CLASSES = new TreeMap<>();

    public static void main(String[] arguments) throws Exception {
        findClasses();
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, "UTF-8");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode question = JSON.readTree(line);
            ObjectNode answer;
            try {
                answer = question.get("op").asText().equals("hello") ? hello() : answer(question);
            } catch (InvocationTargetException | RuntimeException error) {
                answer = NODES.objectNode().put("refused", String.valueOf(error.getCause() == null ? error : error.getCause()));
            }
            answer.put("id", question.get("id").asInt());
            out.println(answer);
            out.flush();
        }
    }

    static void findClasses() throws Exception {
        for (String path : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (!path.endsWith(".jar")) continue;
            try (JarFile jar = new JarFile(path)) {
                for (var entry : (Iterable<JarEntry>) jar.stream()::iterator) {
                    String name = entry.getName();
                    if (!name.startsWith("org/apache/kafka/") || !name.endsWith("JsonConverter.class") || name.contains("$")) continue;
                    Class<?> type = Class.forName(name.replace("JsonConverter.class", "").replace('/', '.'));
                    if (Message.class.isAssignableFrom(type)) {
                        CLASSES.put(type.getSimpleName().replaceFirst("(Request|Response|RequestHeader|ResponseHeader)Data$", "$1"), type);
                    }
                }
            }
        }
    }

    static ObjectNode hello() throws Exception {
        Properties release = new Properties();
        release.load(KafkaClients.class.getResourceAsStream("/kafka/kafka-version.properties"));
        ObjectNode answer = NODES.objectNode().put("name", "kafka-clients").put("release", release.getProperty("version"));
        answer.putArray("ops").add("decode").add("encode").add("reencode");
        ObjectNode claims = answer.putObject("claims");
        ObjectNode messages = claims.putObject("message");
        for (var entry : CLASSES.entrySet()) {
            short lowest = entry.getValue().getField("LOWEST_SUPPORTED_VERSION").getShort(null);
            short highest = entry.getValue().getField("HIGHEST_SUPPORTED_VERSION").getShort(null);
            if (lowest <= highest) messages.putArray(entry.getKey()).add(lowest).add(highest);
        }
        claims.putObject("records").putArray("records").add(0).add(2);
        return answer;
    }

    static ObjectNode answer(JsonNode question) throws Exception {
        ObjectNode answer = NODES.objectNode();
        String op = question.get("op").asText();
        if (question.get("form").asText().equals("records")) return answer.set("json", records(question));
        short version = (short) question.get("version").asInt();
        Class<?> type = CLASSES.get(question.get("message").asText());
        Class<?> converter = Class.forName(type.getName() + "JsonConverter");
        if (op.equals("encode")) {
            if (question.get("json").toString().matches(".*\"(NaN|-?Infinity)\".*"))
                return answer.put("skipped", "Java's converter cannot read the NaN and the infinities that it writes");
            Method read = converter.getMethod("read", JsonNode.class, short.class);
            return answer.put("bytes", written((Message) read.invoke(null, question.get("json"), version), version));
        }
        ByteBufferAccessor bytes = new ByteBufferAccessor(ByteBuffer.wrap(HexFormat.of().parseHex(question.get("bytes").asText())));
        Message message = (Message) type.getConstructor(Readable.class, short.class).newInstance(bytes, version);
        if (op.equals("reencode")) return answer.put("bytes", written(message, version));
        JsonNode json = (JsonNode) converter.getMethod("write", type, short.class, boolean.class).invoke(null, message, version, true);
        addRecords(json, message);
        return answer.set("json", json);
    }

    static String written(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBufferAccessor bytes = new ByteBufferAccessor(ByteBuffer.allocate(message.size(cache, version)));
        message.write(bytes, cache, version);
        return HexFormat.of().formatHex(bytes.buffer().array());
    }

    /** Java's converters write empty bytes for records: put the real ones in. */
    static void addRecords(JsonNode json, Object value) throws Exception {
        int at = 0;
        if (json.isArray()) {
            for (Object element : (Iterable<?>) value) addRecords(json.get(at++), element);
        } else if (json.isObject()) {
            for (var field : (Iterable<Map.Entry<String, JsonNode>>) json::fields) {
                if (!(field.getValue().isContainerNode() || field.getValue().isBinary())) continue;
                Object inner = call(value, field.getKey());
                if (inner.getClass().getSimpleName().equals("MemoryRecords")) {
                    ((ObjectNode) json).put(field.getKey(), bytes((ByteBuffer) call(inner, "buffer")));
                } else if (inner instanceof Iterable || inner instanceof Message) addRecords(field.getValue(), inner);
            }
        }
    }

    /** The records of batches; their classes have other packages before Kafka 4.2. */
    static JsonNode records(JsonNode question) throws Exception {
        Class<?> type;
        try {
            type = Class.forName("org.apache.kafka.common.record.internal.MemoryRecords");
        } catch (ClassNotFoundException error) {
            type = Class.forName("org.apache.kafka.common.record.MemoryRecords");
        }
        ObjectNode json = NODES.objectNode();
        var found = json.putArray("records");
        ByteBuffer buffer = ByteBuffer.wrap(HexFormat.of().parseHex(question.get("bytes").asText()));
        Object records = type.getMethod("readableRecords", ByteBuffer.class).invoke(null, buffer);
        for (Object record : (Iterable<?>) call(records, "records")) {
            ObjectNode one = found.addObject().put("offset", (long) call(record, "offset"));
            one.put("timestamp", (long) call(record, "timestamp"));
            one.put("key", bytes((ByteBuffer) call(record, "key"))).put("value", bytes((ByteBuffer) call(record, "value")));
            var headers = one.putArray("headers");
            for (Header header : (Header[]) call(record, "headers"))
                headers.addObject().put("key", header.key()).put("value", header.value());
        }
        return json;
    }

    static Object call(Object value, String name) throws Exception {
        Method method = value.getClass().getMethod(name);
        method.setAccessible(true);
        return method.invoke(value);
    }

    static byte[] bytes(ByteBuffer buffer) {
        byte[] bytes = buffer == null ? null : new byte[buffer.remaining()];
        if (buffer != null) buffer.duplicate().get(bytes);
        return bytes;
    }
}
