// sarama for "kipwire conform". It is built with export/export.go as a part of sarama: see conformance/README.md.
package main

import (
	"strings"

	"kipwire/conformance/lines"

	"github.com/IBM/sarama"
)

func main() {
	keys, claims := map[string]int16{}, map[string][2]int16{}
	for key, api := range lines.APIs() {
		for _, part := range []string{"Request", "Response"} {
			if lowest, highest, ok := sarama.ConformVersions(key, part == "Response"); ok {
				keys[api+part] = key
				claims[api+part] = [2]int16{lowest, highest}
			}
		}
	}
	lines.Library{
		Name: "sarama", Module: "github.com/IBM/sarama", Claims: claims,
		Shuffles: true, // it keeps arrays as maps
		Reencode: func(name string, version int16, data []byte) ([]byte, error) {
			return sarama.ConformReencode(keys[name], version, strings.HasSuffix(name, "Response"), data)
		},
	}.Serve()
}
