// Package lines answers the questions of "kipwire conform" for a library that decodes and encodes bodies.
package lines

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Library is what is asked.
type Library struct {
	Name   string
	Module string
	// Claims has the lowest and the highest version of each message.
	Claims map[string][2]int16
	// Shuffles says that arrays lose their order.
	Shuffles bool
	// Reencode decodes the body of a message and encodes it again.
	Reencode func(message string, version int16, data []byte) ([]byte, error)
}

// What kmsg calls otherwise than Kafka.
var names = strings.NewReplacer("SCRAM", "Scram", "ACLs", "Acls", "SASL", "Sasl")

// APIs has the names of Kafka's APIs by their keys.
func APIs() map[int16]string {
	found := map[int16]string{}
	for key := int16(0); key <= kmsg.MaxKey; key++ {
		if kmsg.RequestForKey(key) != nil {
			found[key] = names.Replace(kmsg.NameForKey(key))
		}
	}
	return found
}

type question struct {
	ID      int    `json:"id"`
	Op      string `json:"op"`
	Message string `json:"message"`
	Version int16  `json:"version"`
	Bytes   string `json:"bytes"`
}

func (library Library) hello() map[string]any {
	release := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range info.Deps {
			if dependency.Path == library.Module {
				release = dependency.Version
			}
		}
	}
	claims := map[string]any{"message": library.Claims}
	return map[string]any{
		"name": library.Name, "release": release, "ops": []string{"reencode"}, "claims": claims,
		"keeps_order": !library.Shuffles,
	}
}

func (library Library) answer(asked question) (answer map[string]any) {
	defer func() {
		if failure := recover(); failure != nil {
			answer = map[string]any{"refused": fmt.Sprint("panic: ", failure)}
		}
	}()
	if asked.Op == "hello" {
		return library.hello()
	}
	data, err := hex.DecodeString(asked.Bytes)
	if err == nil {
		var again []byte
		if again, err = library.Reencode(asked.Message, asked.Version, data); err == nil {
			return map[string]any{"bytes": hex.EncodeToString(again)}
		}
	}
	return map[string]any{"refused": err.Error()}
}

// Serve answers until the input ends.
func (library Library) Serve() {
	in := bufio.NewReaderSize(os.Stdin, 1<<16)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked question
		if err := json.Unmarshal(line, &asked); err != nil {
			panic(err)
		}
		said := library.answer(asked)
		said["id"] = asked.ID
		if err := out.Encode(said); err != nil {
			return
		}
	}
}
