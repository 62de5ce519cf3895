// Ten steps with franz-go, against the broker whose addresses, between commas, are the argument.
package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	. "kipwire/foreign/steps"
)

const topic, group = "franz-go", "franz-go-group"

var ctx = context.Background()

func client(options ...kgo.Opt) *kgo.Client {
	return Must(kgo.NewClient(append(options, kgo.SeedBrokers(Addresses()...))...))
}

func record(n int) *kgo.Record {
	return &kgo.Record{
		Topic: topic, Partition: int32(n % Partitions),
		Key: []byte(Key(n)), Value: []byte(Value(n)),
		Headers: []kgo.RecordHeader{{Key: "number", Value: fmt.Appendf(nil, "%d", n)}, {Key: "empty", Value: []byte{}}},
	}
}

// send produces records of these numbers.
func send(by *kgo.Client, from, to int) {
	var records []*kgo.Record
	for n := from; n < to; n++ {
		records = append(records, record(n))
	}
	Done(by.ProduceSync(ctx, records...).FirstErr())
}

// read polls until there are records of just these numbers, and compares them.
func read(by *kgo.Client, from, to int) {
	seen := map[string]bool{}
	for len(seen) < to-from {
		fetches := by.PollFetches(ctx)
		Check(len(fetches.Errors()) == 0, "%v", fetches.Errors())
		fetches.EachRecord(func(got *kgo.Record) {
			n := Number(got.Key)
			want := record(n)
			Check(from <= n && n < to && !seen[string(got.Key)], "record %d comes, of %d to %d", n, from, to)
			Check(string(got.Value) == Value(n) && got.Partition == want.Partition, "record %d differs", n)
			Check(fmt.Sprint(got.Headers) == fmt.Sprint(want.Headers), "headers of %d: %v", n, got.Headers)
			seen[string(got.Key)] = true
		})
	}
}

func member() *kgo.Client {
	return client(kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
}

func main() {
	admin := kadm.NewClient(client())
	manual := kgo.RecordPartitioner(kgo.ManualPartitioner())

	Must(Must(admin.CreateTopics(ctx, Partitions, 1, nil, topic)).On(topic, nil))
	Ok("create topic")

	listed := Must(admin.ListTopics(ctx))
	Check(len(listed[topic].Partitions) == Partitions, "partitions: %v", listed[topic].Partitions)
	Ok("list topic")

	codecs := []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(),
		kgo.Lz4Compression(), kgo.ZstdCompression()}
	for i, codec := range codecs {
		producer := client(kgo.ProducerBatchCompression(codec), manual)
		send(producer, i*PerCodec, (i+1)*PerCodec)
		producer.Close()
	}
	sent := len(codecs) * PerCodec
	Ok("produce")

	reader := client(kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	read(reader, 0, sent)
	reader.Close()
	Ok("consume")

	first := member()
	read(first, 0, sent)
	Done(first.CommitUncommittedOffsets(ctx))
	first.Close()
	committed := Must(admin.FetchOffsets(ctx, group))
	for p := range int32(Partitions) {
		Check(committed[topic][p].At == int64(sent/Partitions), "committed: %v", committed)
	}
	Ok("commit in a group")

	producer := client(manual)
	send(producer, sent, sent+30)
	first = member()
	read(first, sent, sent+30)
	Done(first.CommitUncommittedOffsets(ctx))
	Ok("resume after a restart")

	second := member()
	for described := 0; described != 2; {
		for _, one := range []*kgo.Client{first, second} {
			soon, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			one.PollFetches(soon) // without records; a member takes part in the rebalance
			cancel()
		}
		one := Must(admin.DescribeGroups(ctx, group))[group]
		described = 0
		for _, member := range one.Members {
			assigned, _ := member.Assigned.AsConsumer()
			if one.State == "Stable" && assigned != nil && len(assigned.Topics) == 1 {
				described++
			}
		}
	}
	first.Close()
	second.Close()
	Ok("share a group of two")

	payer := client(manual, kgo.TransactionalID("franz-go-payer"))
	for i, end := range []kgo.TransactionEndTry{kgo.TryAbort, kgo.TryCommit} {
		Done(payer.BeginTransaction())
		send(payer, sent+30+i*30, sent+60+i*30)
		Done(payer.EndTransaction(ctx, end))
	}
	payer.Close()
	careful := client(kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().At(int64(sent+30)/Partitions)))
	read(careful, sent+60, sent+90)
	careful.Close()
	Ok("read committed transactions")

	hour := "3600000"
	altered := Must(admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Name: "retention.ms", Value: &hour}}, topic))
	Done(altered[0].Err)
	configs := Must(Must(admin.DescribeTopicConfigs(ctx, topic)).On(topic, nil))
	kept := slices.ContainsFunc(configs.Configs, func(config kadm.Config) bool {
		return config.Key == "retention.ms" && config.MaybeValue() == hour
	})
	Check(kept, "retention.ms is not altered: %v", configs.Configs)
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: topic, Partition: 0, At: 7})
	Must(admin.DeleteRecords(ctx, offsets))
	starts := Must(admin.ListStartOffsets(ctx, topic))
	Check(starts[topic][0].Offset == 7 && starts[topic][1].Offset == 0, "starts: %v", starts)
	Ok("alter configs and delete records")

	Must(Must(admin.DeleteGroups(ctx, group)).On(group, nil))
	Must(Must(admin.DeleteTopics(ctx, topic)).On(topic, nil))
	fresh := kadm.NewClient(client()) // the other one keeps metadata
	Check(!Must(fresh.ListTopics(ctx)).Has(topic), "the topic is still there")
	Ok("delete group and topic")
}
