// Package value reads and writes values as they travel between an agent and a
// sandbox: JSON, with the raw buffers of arrays, bytes and images behind it; see
// docs/protocol.md, section 4.
package value

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// Value is a value as it travels: the body of a frame, taken apart.
type Value struct {
	JSON   json.RawMessage // part 0
	Parts  [][]byte        // the parts that follow, as they are when decoded; part B of a tag is Parts[B-1]
	Tagged bool            // there are tags in JSON; always with Parts
}

// The Content-Type of a body that is a value, and of a stream of frames.
const (
	MediaType       = "application/vnd.seer.value"
	MediaTypeFrames = "application/vnd.seer.frames"
)

// Limits bound what reading takes. The zero value has none beyond the protocol's.
type Limits struct {
	Bytes int64 // of all parts when decoded
}

// ErrTooLarge is in the chain of errors of what exceeds a limit of the caller.
var ErrTooLarge = errors.New("larger than the limit")

// ErrMalformed is in the chain of errors of what breaks the rules of section 4.
var ErrMalformed = errors.New("a value is malformed")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// Hash is the hex SHA-256 of the canonical form.
func (v Value) Hash() (string, error) {
	h := sha256.New()
	if err := v.WriteCanonical(h); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
