import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.Consumer;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.errors.UnsupportedCompressionTypeException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.ControlRecordType;
import org.apache.kafka.common.record.ConvertedRecords;
import org.apache.kafka.common.record.DefaultRecordBatch;
import org.apache.kafka.common.record.EndTransactionMarker;
import org.apache.kafka.common.record.LazyDownConversionRecords;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.MutableRecordBatch;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.SimpleRecord;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.ByteBufferOutputStream;
import org.apache.kafka.common.utils.PrimitiveRef;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogValidator;

/**
 * Prints what Kafka converts records to, one JSON object a line: down as a broker does for old consumers
 * (MemoryRecords.downConvert), and up as a broker does for old producers (a builder that is given the old records).
 */
public class RecordConversion {
    private static final long NOW = 1700000000000L;
    private static final long NONE = RecordBatch.NO_TIMESTAMP;
    private static final TopicPartition PARTITION = new TopicPartition("orders", 0);
    private static final List<CompressionType> OLD_CODECS =
        List.of(CompressionType.NONE, CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4);

    public static void main(String[] arguments) throws Exception {
        for (CompressionType codec : CompressionType.values()) {
            down("headers, null keys and values, gaps, " + codec.name, headers(codec));
            down("one record at the highest offsets, " + codec.name, highest(codec));
            down("append time, " + codec.name, appendTime(codec));
            down("transactions with their markers, " + codec.name, transactions(codec));
            down("compacted, with batches that are empty, " + codec.name, compacted(codec));
        }
        down("markers alone", markers());
        down("all magics and codecs side by side", mixed());
        for (CompressionType codec : OLD_CODECS) {
            for (byte magic : new byte[] {0, 1}) {
                String name = "magic " + magic + ", " + codec.name;
                up(name, old(magic, codec, TimestampType.CREATE_TIME, 1));
                up(name + ", gaps", old(magic, codec, TimestampType.CREATE_TIME, 1000));
                down(name, old(magic, codec, TimestampType.CREATE_TIME, 1));
            }
            up("magic 1, append time, " + codec.name, old((byte) 1, codec, TimestampType.LOG_APPEND_TIME, 3));
            down("magic 1, append time, " + codec.name, old((byte) 1, codec, TimestampType.LOG_APPEND_TIME, 3));
        }
    }

    private static ByteBuffer headers(CompressionType codec) {
        return batch(2, codec, TimestampType.CREATE_TIME, 40, false, builder -> {
            builder.appendWithOffset(42L, NOW + 5, bytes("key"), bytes("value"), header("trace", "t-1"));
            builder.appendWithOffset(43L, NOW, null, bytes("without a key"), header("a", "1", "a", "2", "null", null));
            builder.appendWithOffset(47L, NOW + 9, bytes("without a value"), null);
            builder.appendWithOffset(50L, NONE, bytes(""), bytes(""));
            for (int at = 0; at < 12; at++) {
                builder.appendWithOffset(51L + at, NOW - at, bytes("k" + at % 3), bytes("value value value " + at));
            }
        });
    }

    private static ByteBuffer highest(CompressionType codec) {
        return batch(2, codec, TimestampType.CREATE_TIME, Long.MAX_VALUE - 1, false, builder ->
            builder.appendWithOffset(Long.MAX_VALUE - 1, Long.MAX_VALUE, bytes("k"), bytes("v")));
    }

    private static ByteBuffer appendTime(CompressionType codec) {
        return batch(2, codec, TimestampType.LOG_APPEND_TIME, 7, false, builder -> {
            builder.appendWithOffset(7L, NOW - 1000, null, bytes("sent earlier"));
            builder.appendWithOffset(8L, NOW + 1000, null, bytes("sent later"));
        });
    }

    private static ByteBuffer transactions(CompressionType codec) {
        ByteBuffer whole = ByteBuffer.allocate(4096);
        for (int number = 0; number < 3; number++) {
            int first = 10 * number;
            whole.put(batch(2, codec, TimestampType.CREATE_TIME, first, true, builder -> {
                for (int at = 0; at < 4; at++) {
                    builder.appendWithOffset(first + at, NOW + at, bytes("k" + at), bytes("txn" + first));
                }
            }));
            ControlRecordType end = number == 1 ? ControlRecordType.ABORT : ControlRecordType.COMMIT;
            MemoryRecords.writeEndTransactionalMarker(
                whole, first + 4, NOW + 5, 3, 7, (short) 0, new EndTransactionMarker(end, 9));
        }
        return whole.flip();
    }

    private static ByteBuffer markers() {
        ByteBuffer whole = ByteBuffer.allocate(1024);
        for (ControlRecordType end : List.of(ControlRecordType.COMMIT, ControlRecordType.ABORT)) {
            MemoryRecords.writeEndTransactionalMarker(
                whole, whole.position(), NOW, 3, 7, (short) 0, new EndTransactionMarker(end, 9));
        }
        return whole.flip();
    }

    private static ByteBuffer compacted(CompressionType codec) {
        ByteBuffer whole = ByteBuffer.allocate(4096);
        whole.put(batch(2, codec, TimestampType.CREATE_TIME, 100, false, builder -> {
            builder.appendWithOffset(103L, NOW, bytes("a"), bytes("first"));
            builder.appendWithOffset(110L, NOW + 1, bytes("b"), bytes("second"));
            builder.overrideLastOffset(150);
        }));
        DefaultRecordBatch.writeEmptyHeader(whole, (byte) 2, 7L, (short) 0, 4, 151, 160, 3, TimestampType.CREATE_TIME,
            NOW, true, false);
        ByteBufferOutputStream stream = new ByteBufferOutputStream(1024);
        try (MemoryRecordsBuilder builder = new MemoryRecordsBuilder(stream, (byte) 2, Compression.of(codec).build(),
                TimestampType.CREATE_TIME, 170, NONE, 7, (short) 0, 14, false, false, 5, 1024, NOW + 86400000)) {
            builder.appendWithOffset(171L, NOW, bytes("c"), (byte[]) null);
            builder.overrideLastOffset(179);
        }
        whole.put(stream.buffer().flip());
        return whole.flip();
    }

    private static ByteBuffer mixed() {
        ByteBuffer whole = ByteBuffer.allocate(8192);
        int first = 0;
        for (CompressionType codec : OLD_CODECS) {
            for (int magic = 0; magic < 3; magic++) {
                int offset = first;
                whole.put(batch(magic, codec, TimestampType.CREATE_TIME, offset, false, builder -> {
                    builder.appendWithOffset(offset, NOW, bytes("k"), bytes("plain old value"));
                    builder.appendWithOffset(offset + 1L, NOW + 1, null, bytes("another old value"));
                }));
                first += 2;
            }
        }
        return whole.flip();
    }

    private static ByteBuffer old(byte magic, CompressionType codec, TimestampType type, int gap) {
        return batch(magic, codec, type, 20, false, builder -> {
            for (int at = 0; at < 6; at++) {
                byte[] value = at == 4 ? null : bytes("value value value " + at);
                builder.appendWithOffset(20L + (long) at * gap, NOW + at, at % 2 == 0 ? null : bytes("k"), value);
            }
        });
    }

    /** A batch; a message set of magic 0 or 1 is as many batches as it has entries. */
    private static ByteBuffer batch(int magic, CompressionType codec, TimestampType type, long baseOffset,
            boolean isTransactional, Consumer<MemoryRecordsBuilder> fill) {
        ByteBufferOutputStream stream = new ByteBufferOutputStream(4096);
        long time = type == TimestampType.LOG_APPEND_TIME ? NOW : NONE;
        try (MemoryRecordsBuilder builder = new MemoryRecordsBuilder(stream, (byte) magic,
                Compression.of(codec).build(), type, baseOffset, time, isTransactional ? 7 : -1,
                (short) (isTransactional ? 0 : -1), isTransactional ? 11 : -1, isTransactional, false,
                magic == 2 ? 3 : -1, 4096)) {
            fill.accept(builder);
        }
        return stream.buffer().flip();
    }

    private static Header[] header(String... keysAndValues) {
        Header[] headers = new Header[keysAndValues.length / 2];
        for (int at = 0; at < headers.length; at++) {
            headers[at] = new RecordHeader(keysAndValues[2 * at], bytes(keysAndValues[2 * at + 1]));
        }
        return headers;
    }

    private static byte[] bytes(String text) {
        return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
    }

    private static void down(String label, ByteBuffer data) {
        long middle = middleOffset(data);
        for (byte magic : new byte[] {1, 0}) {
            for (long firstOffset : new long[] {0, middle}) {
                String result;
                try {
                    ByteBuffer whole = MemoryRecords.readableRecords(data.duplicate())
                        .downConvert(magic, firstOffset, Time.SYSTEM).records().buffer();
                    if (firstOffset == 0 && !whole.equals(lazily(data, magic))) {
                        throw new IllegalStateException("LazyDownConversionRecords differs: " + label);
                    }
                    result = quoted("hex", hex(whole));
                } catch (UnsupportedCompressionTypeException refusal) {
                    result = quoted("refused", refusal.getMessage());
                }
                print("down", label, data, magic, firstOffset, result);
            }
        }
    }

    /**
     * What a broker sends, which converts a log bit by bit. From the first offset on only: where the first batches have
     * nothing to send, 3.9.1 sends the batch after them twice.
     */
    private static ByteBuffer lazily(ByteBuffer data, byte magic) {
        MemoryRecords records = MemoryRecords.readableRecords(data.duplicate());
        Iterator<ConvertedRecords<?>> parts =
            new LazyDownConversionRecords(PARTITION, records, magic, 0, Time.SYSTEM).iterator(16);
        ByteBuffer whole = ByteBuffer.allocate(1 << 16);
        while (parts.hasNext()) {
            whole.put(((MemoryRecords) parts.next().records()).buffer().duplicate());
        }
        return whole.flip();
    }

    private static void up(String label, ByteBuffer data) {
        for (byte magic : new byte[] {1, 2}) {
            ByteBufferOutputStream stream = new ByteBufferOutputStream(4096);
            List<Record> records = new ArrayList<>();
            MutableRecordBatch first = null;
            for (MutableRecordBatch batch : MemoryRecords.readableRecords(data.duplicate()).batches()) {
                first = first == null ? batch : first;
                batch.forEach(records::add);
            }
            if (first.magic() >= magic) {
                continue;
            }
            boolean appendTime = first.timestampType() == TimestampType.LOG_APPEND_TIME;
            try (MemoryRecordsBuilder builder = new MemoryRecordsBuilder(stream, magic,
                    Compression.of(first.compressionType()).build(),
                    appendTime ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME, records.get(0).offset(),
                    appendTime ? first.maxTimestamp() : NONE, -1, (short) -1, -1, false, false, -1, 4096)) {
                for (Record record : records) {
                    builder.appendWithOffset(record.offset(), record);
                }
            }
            ByteBuffer result = stream.buffer().flip();
            boolean hasGaps = records.get(records.size() - 1).offset() - records.get(0).offset() >= records.size();
            if (!appendTime && !hasGaps && !result.equals(produced(data, magic, records.get(0).offset()))) {
                throw new IllegalStateException("LogValidator differs: " + label);
            }
            print("up", label, data, magic, 0, quoted("hex", hex(result)));
        }
    }

    /** What a broker writes into its log when a producer sends the data; it gives out offsets without gaps. */
    private static ByteBuffer produced(ByteBuffer data, byte magic, long firstOffset) {
        MemoryRecords records = MemoryRecords.readableRecords(data.duplicate());
        CompressionType codec = records.batches().iterator().next().compressionType();
        LogValidator.MetricsRecorder ignored =
            (LogValidator.MetricsRecorder) Proxy.newProxyInstance(RecordConversion.class.getClassLoader(),
                new Class<?>[] {LogValidator.MetricsRecorder.class}, (proxy, method, values) -> null);
        return new LogValidator(records, PARTITION, Time.SYSTEM, codec, Compression.of(codec).build(), false, magic,
                TimestampType.CREATE_TIME, Long.MAX_VALUE, Long.MAX_VALUE, RecordBatch.NO_PARTITION_LEADER_EPOCH,
                AppendOrigin.CLIENT, MetadataVersion.latestTesting())
            .validateMessagesAndAssignOffsets(PrimitiveRef.ofLong(firstOffset), ignored, BufferSupplier.NO_CACHING)
            .validatedRecords.buffer();
    }

    private static long middleOffset(ByteBuffer data) {
        List<Long> offsets = new ArrayList<>();
        for (RecordBatch batch : MemoryRecords.readableRecords(data.duplicate()).batches()) {
            batch.forEach(record -> offsets.add(record.offset()));
        }
        return offsets.get(offsets.size() / 2);
    }

    private static void print(
            String kind, String label, ByteBuffer data, byte magic, long firstOffset, String result) {
        System.out.println("{" + String.join(", ", quoted("kind", kind), quoted("label", label),
            quoted("from", hex(data)), "\"magic\": " + magic, "\"firstOffset\": " + firstOffset, result) + "}");
    }

    private static String quoted(String name, String text) {
        return "\"" + name + "\": \"" + text + "\"";
    }

    private static String hex(ByteBuffer data) {
        StringBuilder text = new StringBuilder();
        ByteBuffer rest = data.duplicate();
        while (rest.hasRemaining()) {
            text.append(String.format("%02x", rest.get()));
        }
        return text.toString();
    }
}
