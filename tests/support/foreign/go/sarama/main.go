// Ten steps with sarama, against the broker whose addresses, between commas, are the argument.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/IBM/sarama"

	. "kipwire/foreign/steps"
)

const topic, group = "sarama", "sarama-group"

func config() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Heartbeat.Interval = 200 * time.Millisecond // how soon a member learns of a rebalance
	return config
}

// send produces records of these numbers.
func send(by sarama.SyncProducer, from, to int) {
	var messages []*sarama.ProducerMessage
	for n := from; n < to; n++ {
		messages = append(messages, &sarama.ProducerMessage{
			Topic: topic, Partition: int32(n % Partitions),
			Key: sarama.StringEncoder(Key(n)), Value: sarama.StringEncoder(Value(n)),
			Headers: []sarama.RecordHeader{{Key: []byte("number"), Value: fmt.Append(nil, n)}, {Key: []byte("empty")}},
		})
	}
	Done(by.SendMessages(messages))
}

// compare makes sure that a record is one of these numbers, as it was sent.
func compare(got *sarama.ConsumerMessage, from, to int) {
	n := Number(got.Key)
	Check(from <= n && n < to, "record %d comes, of %d to %d", n, from, to)
	Check(string(got.Value) == Value(n) && got.Partition == int32(n%Partitions), "record %d differs", n)
	Check(len(got.Headers) == 2 && string(got.Headers[0].Value) == fmt.Sprint(n), "headers of %d differ", n)
	Check(string(got.Headers[1].Key) == "empty" && len(got.Headers[1].Value) == 0, "headers of %d differ", n)
}

// read consumes each partition from an offset on, until its part of the records of these numbers has come in order.
func read(settings *sarama.Config, offset int64, from, to int) {
	consumer := Must(sarama.NewConsumer(Addresses(), settings))
	for p := range Partitions {
		one := Must(consumer.ConsumePartition(topic, int32(p), offset))
		for n := from + p; n < to; n += Partitions {
			got := <-one.Messages()
			Check(string(got.Key) == Key(n), "%s comes instead of %s", got.Key, Key(n))
			compare(got, from, to)
		}
		one.Close()
	}
	consumer.Close()
}

// member is one of the group: it passes records on, and commits them when it goes.
type member struct{ got chan *sarama.ConsumerMessage }

func (member) Setup(sarama.ConsumerGroupSession) error { return nil }
func (member) Cleanup(session sarama.ConsumerGroupSession) error {
	session.Commit()
	return nil
}
func (m member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		session.MarkMessage(message, "")
		m.got <- message
	}
	return nil
}

// join starts a member; the function that it returns ends it.
func join(got chan *sarama.ConsumerMessage) func() {
	one := Must(sarama.NewConsumerGroup(Addresses(), group, config()))
	running, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for running.Err() == nil {
			Done(one.Consume(running, []string{topic}, member{got}))
		}
	}()
	return func() {
		stop()
		<-ended
		one.Close()
	}
}

// take reads what members of the group pass on: records of just these numbers.
func take(got chan *sarama.ConsumerMessage, from, to int) {
	seen := map[string]bool{}
	for len(seen) < to-from {
		message := <-got
		compare(message, from, to)
		Check(!seen[string(message.Key)], "%s comes twice", message.Key)
		seen[string(message.Key)] = true
	}
}

func main() {
	admin := Must(sarama.NewClusterAdmin(Addresses(), config()))
	got := make(chan *sarama.ConsumerMessage)

	Done(admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: Partitions, ReplicationFactor: 1}, false))
	Ok("create topic")

	Check(Must(admin.ListTopics())[topic].NumPartitions == Partitions, "the topic is not listed")
	Ok("list topic")

	codecs := []sarama.CompressionCodec{sarama.CompressionNone, sarama.CompressionGZIP, sarama.CompressionSnappy,
		sarama.CompressionLZ4, sarama.CompressionZSTD}
	for i, codec := range codecs {
		settings := config()
		settings.Producer.Compression = codec
		producer := Must(sarama.NewSyncProducer(Addresses(), settings))
		send(producer, i*PerCodec, (i+1)*PerCodec)
		producer.Close()
	}
	sent := len(codecs) * PerCodec
	Ok("produce")

	read(config(), sarama.OffsetOldest, 0, sent)
	Ok("consume")

	leave := join(got)
	take(got, 0, sent)
	leave()
	committed := Must(admin.ListConsumerGroupOffsets(group, map[string][]int32{topic: {0, 1, 2}}))
	for p := range int32(Partitions) {
		at := committed.GetBlock(topic, p).Offset
		Check(at == int64(sent/Partitions), "committed in partition %d: %d", p, at)
	}
	Ok("commit in a group")

	producer := Must(sarama.NewSyncProducer(Addresses(), config()))
	send(producer, sent, sent+30)
	producer.Close()
	leave = join(got)
	take(got, sent, sent+30)
	Ok("resume after a restart")

	leaveToo := join(got)
	for sharing := 0; sharing != 2; time.Sleep(50 * time.Millisecond) {
		sharing = 0
		one := Must(admin.DescribeConsumerGroups([]string{group}))[0]
		for _, member := range one.Members {
			assigned, err := member.GetMemberAssignment()
			if one.State == "Stable" && err == nil && assigned != nil && len(assigned.Topics[topic]) > 0 {
				sharing++
			}
		}
	}
	leave()
	leaveToo()
	Ok("share a group of two")

	settings := config()
	settings.Producer.Idempotent = true
	settings.Producer.Transaction.ID = "sarama-payer"
	settings.Net.MaxOpenRequests = 1
	payer := Must(sarama.NewSyncProducer(Addresses(), settings))
	for i, end := range []func() error{payer.AbortTxn, payer.CommitTxn} {
		Done(payer.BeginTxn())
		send(payer, sent+30+i*30, sent+60+i*30)
		Done(end())
	}
	payer.Close()
	careful := config()
	careful.Consumer.IsolationLevel = sarama.ReadCommitted
	read(careful, int64(sent+30)/Partitions, sent+60, sent+90)
	Ok("read committed transactions")

	hour := "3600000"
	Done(admin.AlterConfig(sarama.TopicResource, topic, map[string]*string{"retention.ms": &hour}, false))
	wanted := sarama.ConfigResource{Type: sarama.TopicResource, Name: topic, ConfigNames: []string{"retention.ms"}}
	Check(Must(admin.DescribeConfig(wanted))[0].Value == hour, "retention.ms is not altered")
	Done(admin.DeleteRecords(topic, map[int32]int64{0: 7}))
	client := Must(sarama.NewClient(Addresses(), config()))
	Check(Must(client.GetOffset(topic, 0, sarama.OffsetOldest)) == 7, "partition 0 does not begin with offset 7")
	Ok("alter configs and delete records")

	Done(admin.DeleteConsumerGroup(group))
	Done(admin.DeleteTopic(topic))
	Check(len(Must(admin.ListTopics())) == 0, "the topic is still there")
	Ok("delete group and topic")
}
