// A peer of "make bench": decodes and encodes bodies with kmsg of franz-go.
//
// See benchmarks/workers.py for what is said over standard input and output.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

type message interface {
	ReadFrom([]byte) error
	AppendTo([]byte) []byte
	SetVersion(int16)
}

var messages = map[string]func() message{
	"metadata_v12":     func() message { made := kmsg.NewMetadataResponse(); return &made },
	"produce_v9":       func() message { made := kmsg.NewProduceRequest(); return &made },
	"fetch_v12":        func() message { made := kmsg.NewFetchResponse(); return &made },
	"api_versions_v3":  func() message { made := kmsg.NewApiVersionsResponse(); return &made },
	"offset_commit_v8": func() message { made := kmsg.NewOffsetCommitRequest(); return &made },
	"heartbeat_v4":     func() message { made := kmsg.NewHeartbeatRequest(); return &made },
}

// Results end up here, so that the compiler cannot leave out what makes them.
var sink any

type body struct {
	wire    []byte
	decode  func() message
	message message
}

func load(name, file string) body {
	wire, err := os.ReadFile(file)
	check(err)
	empty, known := messages[name]
	if !known {
		check(fmt.Errorf("%s is not a known message", name))
	}
	var version int16
	_, err = fmt.Sscanf(name[strings.LastIndex(name, "_v"):], "_v%d", &version)
	check(err)
	decode := func() message {
		made := empty()
		made.SetVersion(version)
		check(made.ReadFrom(wire))
		return made
	}
	return body{wire, decode, decode()}
}

func (body body) sample(operation string, calls int) time.Duration {
	start := time.Now()
	switch operation {
	case "decode":
		for range calls {
			sink = body.decode()
		}
	case "encode":
		for range calls {
			sink = body.message.AppendTo(nil)
		}
	default:
		check(fmt.Errorf("%s is not an operation", operation))
	}
	return time.Since(start)
}

func (body body) memory(count int) uint64 {
	kept := make([]message, count)
	before := heap()
	for number := range kept {
		kept[number] = body.decode()
	}
	taken := heap() - before
	runtime.KeepAlive(kept)
	return taken / uint64(count)
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	bodies := map[string]body{}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var operation, name, file string
		var count int
		_, err := fmt.Sscan(lines.Text(), &operation, &count, &name, &file)
		check(err)
		one, known := bodies[file]
		if !known {
			one = load(name, file)
			bodies[file] = one
		}
		switch operation {
		case "check":
			fmt.Println(bytes.Equal(one.message.AppendTo(nil), one.wire))
		case "memory":
			fmt.Println(one.memory(count))
		default:
			fmt.Println(one.sample(operation, count).Nanoseconds())
		}
	}
}
