import org.apache.kafka.common.message.ApiMessageType.ListenerType;
import org.apache.kafka.common.protocol.ApiKeys;

/** Prints the versions of each API that a broker lists in ApiVersions: key, lowest and highest, a line for each. */
public class OfferedVersions {
    public static void main(String[] arguments) {
        for (ApiKeys api : ApiKeys.apisForListener(ListenerType.BROKER)) {
            api.toApiVersionForApiResponse(false, ListenerType.BROKER).ifPresent(offered ->
                System.out.println(offered.apiKey() + " " + offered.minVersion() + " " + offered.maxVersion()));
        }
    }
}
