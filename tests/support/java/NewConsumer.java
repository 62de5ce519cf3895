import java.time.Duration;
import java.util.*;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Steps of Java's new consumer (KIP-848), each of which prints a line: the same for any broker. */
public class NewConsumer {
    static String address;
    static String topic;

    static class Member {
        final KafkaConsumer<String, String> consumer;
        final List<String> got = new ArrayList<>();

        Member(String group, String instance, String protocol) {
            Map<String, Object> settings = new HashMap<>();
            settings.put("bootstrap.servers", address);
            settings.put("group.id", group);
            settings.put("group.protocol", protocol);
            settings.put("auto.offset.reset", "earliest");
            settings.put("enable.auto.commit", "false");
            settings.put("metadata.max.age.ms", "500");
            if (protocol.equals("classic")) {
                settings.put("heartbeat.interval.ms", "200");
                settings.put("session.timeout.ms", "6000");
            }
            if (instance != null) settings.put("group.instance.id", instance);
            consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        }

        Member of(String name) {
            consumer.subscribe(List.of(name));
            return this;
        }

        int count() {
            return consumer.assignment().size();
        }
    }

    static void until(BooleanSupplier isEnough, Member... members) {
        long latest = System.currentTimeMillis() + 60_000;
        while (!isEnough.getAsBoolean()) {
            if (System.currentTimeMillis() > latest) throw new IllegalStateException("not in time");
            for (Member one : members)
                for (ConsumerRecord<String, String> record : one.consumer.poll(Duration.ofMillis(50))) one.got.add(record.value());
        }
    }

    static void send(String name, int partition, int count) {
        Map<String, Object> settings = Map.of("bootstrap.servers", address);
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int at = 0; at < count; at++) producer.send(new ProducerRecord<>(name, partition, null, partition + " " + at));
        }
    }

    public static void main(String[] arguments) {
        address = arguments[0];
        topic = arguments[1];
        for (int partition = 0; partition < 4; partition++) send(topic, partition, 3);

        Member one = new Member(topic + "-g", null, "consumer").of(topic);
        until(() -> one.got.size() == 12, one);
        one.consumer.commitSync();
        System.out.println("one member reads " + new TreeSet<>(one.got));
        Member two = new Member(topic + "-g", null, "consumer").of(topic);
        until(() -> one.count() == 2 && two.count() == 2, one, two);
        System.out.println("two members have " + one.count() + " and " + two.count() + ", read " + two.got.size());
        one.consumer.close();
        until(() -> two.count() == 4, two);
        for (int partition = 0; partition < 4; partition++) send(topic, partition, 1);
        until(() -> two.got.size() == 4, two);
        two.consumer.commitSync();
        Set<TopicPartition> all = two.consumer.assignment();
        System.out.println("the other reads " + two.got.size() + ", committed "
            + two.consumer.committed(all).values().stream().mapToLong(found -> found.offset()).sum());
        two.consumer.close();

        Member pattern = new Member(topic + "-p", null, "consumer");
        pattern.consumer.subscribe(new SubscriptionPattern(topic + "(-[a-z]+)?"));
        until(() -> pattern.got.size() == 16, pattern);
        System.out.println("a regular expression reads " + pattern.got.size());
        pattern.consumer.close();

        Member first = new Member(topic + "-s", "a", "consumer").of(topic);
        Member second = new Member(topic + "-s", "b", "consumer").of(topic);
        until(() -> first.count() == 2 && second.count() == 2, first, second);
        Set<TopicPartition> had = new HashSet<>(first.consumer.assignment());
        int generation = second.consumer.groupMetadata().generationId();
        first.consumer.close();
        Member again = new Member(topic + "-s", "a", "consumer").of(topic);
        until(() -> again.count() == 2, again, second);
        System.out.println("a static member is back with what it had: " + again.consumer.assignment().equals(had)
            + ", without a rebalance: " + (second.consumer.groupMetadata().generationId() == generation));
        again.consumer.close();
        second.consumer.close();

        Member old = new Member(topic + "-m", null, "classic").of(topic);
        until(() -> old.got.size() == 16, old);
        old.consumer.commitSync();
        Member upgraded = new Member(topic + "-m", null, "consumer").of(topic);
        until(() -> old.count() == 2 && upgraded.count() == 2, old, upgraded);
        System.out.println("both protocols have " + old.count() + " and " + upgraded.count());
        upgraded.consumer.close();
        until(() -> old.count() == 4, old);
        System.out.println("the classic member has " + old.count() + " again");
        old.consumer.close();
    }
}
