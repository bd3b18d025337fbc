// Package xet reads the Xet format, in which a model hub stores large files: version 1.1.0
// of its public specification.
//
// A file is a sequence of chunks of at most 128 KiB. A xorb is a sequence of chunks as they
// are stored, each with a header of its own. A reconstruction lists the runs of chunks, the
// terms, that make up a file, and the signed URLs and byte ranges that hold them. The package
// does no requests: it parses what servers send, within hard limits, and computes the hashes
// that name chunks, xorbs and files.
package xet

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/zeebo/blake3"
)

// ErrMalformed is in the chain of each error about data that breaks the format, whoever sent it.
var ErrMalformed = errors.New("malformed Xet data")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
}

// Hash names a chunk, a xorb or a file. The zero value is the hash of an empty file.
type Hash [32]byte

// ParseHash reads the text form: 64 lowercase hexadecimal digits, which spell each group of
// eight bytes as one little-endian number.
func ParseHash(text string) (Hash, error) {
	h, err := parseHash(text)
	if err != nil {
		return Hash{}, malformed("%v", err)
	}
	return h, nil
}

func parseHash(text string) (h Hash, err error) {
	var bytes Hash
	if len(text) != 2*len(h) {
		return h, fmt.Errorf("a hash has 64 digits, not %d", len(text))
	}
	for _, c := range []byte(text) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return h, fmt.Errorf("the hash %q has a character other than 0-9 and a-f", text)
		}
	}
	if _, err := hex.Decode(bytes[:], []byte(text)); err != nil {
		return h, fmt.Errorf("hash %q: %w", text, err)
	}
	for i := 0; i < len(h); i += 8 {
		binary.LittleEndian.PutUint64(h[i:], binary.BigEndian.Uint64(bytes[i:]))
	}
	return h, nil
}

// String is the text form.
func (h Hash) String() string {
	var bytes Hash
	for i := 0; i < len(h); i += 8 {
		binary.BigEndian.PutUint64(bytes[i:], binary.LittleEndian.Uint64(h[i:]))
	}
	return hex.EncodeToString(bytes[:])
}

// MarshalText returns the text form.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads the text form. Its errors do not have ErrMalformed in their chain.
func (h *Hash) UnmarshalText(text []byte) error {
	parsed, err := parseHash(string(text))
	if err != nil {
		return err
	}
	*h = parsed
	return nil
}

// The keys of the hashes, as the specification lists them.
var (
	chunkKey = [32]byte{
		102, 151, 245, 119, 91, 149, 80, 222, 49, 53, 203, 172, 165, 151, 24, 28,
		157, 228, 33, 16, 155, 235, 43, 88, 180, 208, 176, 75, 147, 173, 242, 41,
	}
	nodeKey = [32]byte{
		1, 126, 197, 199, 165, 71, 41, 150, 253, 148, 102, 102, 180, 138, 2, 230,
		93, 221, 83, 111, 55, 199, 109, 210, 248, 99, 82, 230, 74, 83, 113, 63,
	}
	termKey = [32]byte{
		127, 24, 87, 214, 206, 86, 237, 102, 18, 127, 249, 19, 231, 165, 195, 243,
		164, 205, 38, 213, 181, 219, 73, 230, 65, 36, 152, 127, 40, 251, 148, 195,
	}
	fileKey [32]byte
)

func keyed(key *[32]byte, data []byte) (h Hash) {
	hasher, err := blake3.NewKeyed(key[:])
	if err != nil {
		panic(err) // only for a key of another length
	}
	_, _ = hasher.Write(data) // it cannot fail
	hasher.Sum(h[:0])
	return h
}

// ChunkHash is the hash of a chunk's raw bytes.
func ChunkHash(raw []byte) Hash { return keyed(&chunkKey, raw) }

// TermHash is the verification hash of a run of chunks.
func TermHash(chunks []Hash) Hash {
	data := make([]byte, 0, len(chunks)*len(Hash{}))
	for _, h := range chunks {
		data = append(data, h[:]...)
	}
	return keyed(&termKey, data)
}
