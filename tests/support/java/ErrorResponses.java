import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;

/** Prints the response by which Kafka's own class of each request on standard input refuses it, a line each. */
public class ErrorResponses {
    /**
     * Arguments: the error code, and a text. Lines of input: API key, version and the bytes of a request; lines of
     * output: the bytes of its response, or "-" where Kafka does not have that API and version.
     */
    public static void main(String[] arguments) throws Exception {
        Throwable error = Errors.forCode(Short.parseShort(arguments[0])).exception(arguments[1]);
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = input.readLine()) != null; ) {
            String[] parts = line.split(" ", -1);
            System.out.println(response(Integer.parseInt(parts[0]), Short.parseShort(parts[1]), parts[2], error));
        }
    }

    private static String response(int key, short version, String hex, Throwable error) throws Exception {
        if (!ApiKeys.hasId(key) || !ApiKeys.forId(key).isVersionSupported(version)) {
            return "-";
        }
        ByteBufferAccessor body = new ByteBufferAccessor(ByteBuffer.wrap(HexFormat.of().parseHex(hex)));
        AbstractRequest request = AbstractRequest.parseRequest(ApiKeys.forId(key), version, body).request;
        AbstractResponse response = request.getErrorResponse(0, error);
        ByteBuffer bytes = MessageUtil.toByteBufferAccessor(response.data(), version).buffer();
        byte[] found = new byte[bytes.remaining()];
        bytes.get(found);
        return HexFormat.of().formatHex(found);
    }
}
