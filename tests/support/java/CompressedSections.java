import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.HexFormat;

import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.internals.BufferSupplier;

/**
 * Decompresses sections as Kafka does when it reads a batch. A line of the input is a codec and bytes as hex; a line of
 * the output is "plain" and the decompressed bytes, or "error" and the class of the exception.
 */
public class CompressedSections {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split(" ", -1);
            ByteBuffer section = ByteBuffer.wrap(HexFormat.of().parseHex(parts[1]));
            Compression codec = Compression.of(CompressionType.forName(parts[0])).build();
            try (InputStream plain = codec.wrapForInput(section, RecordBatch.MAGIC_VALUE_V2, BufferSupplier.NO_CACHING)) {
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                plain.transferTo(out);
                System.out.println("plain " + HexFormat.of().formatHex(out.toByteArray()));
            } catch (Exception | Error error) {
                System.out.println("error " + error.getClass().getSimpleName() + ": " + error.getMessage());
            }
        }
    }
}
