// kmsg, the messages of franz-go, for "kipwire conform".
package main

import (
	"kipwire/conformance/lines"

	"github.com/twmb/franz-go/pkg/kmsg"
)

type message interface {
	ReadFrom([]byte) error
	AppendTo([]byte) []byte
	SetVersion(int16)
	MaxVersion() int16
}

func main() {
	messages := map[string]func() message{}
	for key, api := range lines.APIs() {
		messages[api+"Request"] = func() message { return kmsg.RequestForKey(key) }
		messages[api+"Response"] = func() message { return kmsg.ResponseForKey(key) }
	}
	claims := map[string][2]int16{}
	for name, make := range messages {
		claims[name] = [2]int16{0, make().MaxVersion()}
	}
	lines.Library{
		Name: "kmsg", Module: "github.com/twmb/franz-go/pkg/kmsg", Claims: claims,
		Reencode: func(name string, version int16, data []byte) ([]byte, error) {
			made := messages[name]()
			made.SetVersion(version)
			if err := made.ReadFrom(data); err != nil {
				return nil, err
			}
			return made.AppendTo(nil), nil
		},
	}.Serve()
}
