// Package steps has what both programs need.
package steps

import (
	"fmt"
	"os"
	"strings"
)

// Partitions and PerCodec are counts: of partitions of the topic, and of records that are sent with each codec.
const Partitions, PerCodec = 3, 30

// Addresses are those of the broker, which the argument has between commas.
func Addresses() []string { return strings.Split(os.Args[1], ",") }

// Ok says that a step is done.
func Ok(step string) { fmt.Println("ok", step) }

// Check ends the program unless something holds.
func Check(holds bool, format string, args ...any) {
	if !holds {
		fmt.Fprintf(os.Stderr, "failed: "+format+"\n", args...)
		os.Exit(1)
	}
}

// Done ends the program if there is an error.
func Done(err error) { Check(err == nil, "%v", err) }

// Must is a value, unless there is an error, which ends the program.
func Must[T any](value T, err error) T {
	Done(err)
	return value
}

// Key is the key of a record.
func Key(n int) string { return fmt.Sprintf("key %d", n) }

// Value is the value of a record, which compression makes shorter.
func Value(n int) string { return strings.Repeat(fmt.Sprintf("value %d ", n), 20) }

// Number is the number that a key has.
func Number(key []byte) int {
	var n int
	Must(fmt.Sscanf(string(key), "key %d", &n))
	return n
}
