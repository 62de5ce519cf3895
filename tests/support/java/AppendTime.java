import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;

import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.TimestampType;

/**
 * Gives batches the time of their append, as a broker does in place. Reads lines of a timestamp and a batch of magic 2
 * in hex; prints the head of the batch after it.
 */
public class AppendTime {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        HexFormat hex = HexFormat.of();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split(" ");
            byte[] before = hex.parseHex(parts[1]);
            byte[] after = before.clone();
            MutableRecordBatch batch =
                MemoryRecords.readableRecords(ByteBuffer.wrap(after)).batches().iterator().next();
            batch.setMaxTimestamp(TimestampType.LOG_APPEND_TIME, Long.parseLong(parts[0]));
            batch.ensureValid();
            int head = DefaultRecordBatch.RECORD_BATCH_OVERHEAD;
            if (!Arrays.equals(before, head, before.length, after, head, after.length)) {
                throw new IllegalStateException("the records changed: " + line);
            }
            System.out.println(hex.formatHex(after, 0, head));
        }
    }
}
