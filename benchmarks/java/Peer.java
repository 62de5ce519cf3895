import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BiFunction;
import org.apache.kafka.common.message.ApiVersionsResponseData;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.Readable;

/**
 * A peer of "make bench": decodes and encodes bodies with kafka-clients.
 *
 * <p>See benchmarks/workers.py for what is said over standard input and output.
 */
public final class Peer {
    private static final Map<String, BiFunction<Readable, Short, Message>> MESSAGES = Map.of(
        "metadata_v12", MetadataResponseData::new,
        "produce_v9", ProduceRequestData::new,
        "fetch_v12", FetchResponseData::new,
        "api_versions_v3", ApiVersionsResponseData::new,
        "offset_commit_v8", OffsetCommitRequestData::new,
        "heartbeat_v4", HeartbeatRequestData::new);

    /** Results end up here, so that the compiler cannot leave out what makes them. */
    static Object sink;

    private record Body(byte[] wire, short version, BiFunction<Readable, Short, Message> reader, Message message) {
        static Body load(String name, String file) {
            short version = Short.parseShort(name.substring(name.lastIndexOf("_v") + 2));
            BiFunction<Readable, Short, Message> reader = MESSAGES.get(name);
            if (reader == null)
                throw new IllegalArgumentException(name + " is not a known message");
            try {
                byte[] wire = Files.readAllBytes(Path.of(file));
                return new Body(wire, version, reader, decode(wire, version, reader));
            } catch (IOException error) {
                throw new IllegalArgumentException(file + " cannot be read", error);
            }
        }

        static Message decode(byte[] wire, short version, BiFunction<Readable, Short, Message> reader) {
            return reader.apply(new ByteBufferAccessor(ByteBuffer.wrap(wire)), version);
        }

        Message decode() {
            return decode(wire, version, reader);
        }

        ByteBuffer encode() {
            return MessageUtil.toByteBufferAccessor(message, version).buffer();
        }

        boolean comesBack() {
            ByteBuffer buffer = encode();
            byte[] bytes = new byte[buffer.remaining()];
            buffer.get(bytes);
            return Arrays.equals(bytes, wire);
        }

        long nanoseconds(String operation, int calls) {
            long start = System.nanoTime();
            switch (operation) {
                case "decode" -> {
                    for (int call = 0; call < calls; call++)
                        sink = decode();
                }
                case "encode" -> {
                    for (int call = 0; call < calls; call++)
                        sink = encode();
                }
                default -> throw new IllegalArgumentException(operation + " is not an operation");
            }
            return System.nanoTime() - start;
        }

        long memory(int count) {
            Message[] kept = new Message[count];
            sink = kept;
            long before = heap();
            for (int number = 0; number < count; number++)
                kept[number] = decode();
            return (heap() - before) / count;
        }

        private static long heap() {
            System.gc();
            return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
        }
    }

    public static void main(String[] arguments) throws IOException {
        Map<String, Body> bodies = new HashMap<>();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ", 4);
            int count = Integer.parseInt(words[1]);
            Body body = bodies.computeIfAbsent(words[3], file -> Body.load(words[2], file));
            switch (words[0]) {
                case "check" -> System.out.println(body.comesBack());
                case "memory" -> System.out.println(body.memory(count));
                default -> System.out.println(body.nanoseconds(words[0], count));
            }
        }
    }
}
