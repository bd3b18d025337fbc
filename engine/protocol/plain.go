package protocol

import (
	"encoding/json"

	"github.com/seer-engine/seer/engine/protocol/value"
)

// How numbers that JSON does not have are written by [Plain].
const (
	NaN           = "NaN"
	Infinity      = "Infinity"
	MinusInfinity = "-Infinity"
)

// Plain is a value without buffers as JSON that anybody can read; see
// [value.Value.Plain].
func Plain(text json.RawMessage) (json.RawMessage, error) {
	return value.Value{JSON: text, Tagged: true}.Plain(value.PlainOptions{})
}
