package protocol

import "github.com/seer-engine/seer/engine/protocol/value"

// How numbers that JSON does not have are written by [value.Value.Plain].
const (
	NaN           = value.NaN
	Infinity      = value.Infinity
	MinusInfinity = value.MinusInfinity
)
