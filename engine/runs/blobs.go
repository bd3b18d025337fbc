package runs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/seer-engine/seer/engine/plainfile"
)

// mostOfEvent is how many bytes of blobs an event may have: the longest line of an agent, and what
// it says.
const mostOfEvent = 2 * mostBlob

// resolver puts the texts of blobs back into data.
type resolver struct {
	root *os.Root
	left int64 // bytes that may still be read
	errs []error
}

// data decodes and resolves the data of an event. The blobs that cannot be read are notes in
// brackets.
func (r *resolver) data(text []byte) (any, error) {
	whole, ok, err := r.whole(text)
	if ok {
		text = whole
	}
	if err != nil {
		return nil, err
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, err
	}
	return r.value(v), nil
}

// whole is the JSON of data that are a blob as a whole. Only these may be JSON in a blob: one inside
// of another could grow without end. ok = they are, and can be read.
func (r *resolver) whole(text []byte) (data []byte, ok bool, err error) {
	if len(text) > 1024 || !hasBlobs(text) {
		return nil, false, nil
	}
	v, err := decode(text)
	if err != nil {
		return nil, false, err
	}
	ref, is := reference(v)
	if !is || !ref.json {
		return nil, false, nil
	}
	read, err := r.read(ref)
	return []byte(read), err == nil, err
}

func (r *resolver) value(v any) any {
	switch in := v.(type) {
	case []any:
		for i := range in {
			in[i] = r.value(in[i])
		}
	case map[string]any:
		if ref, ok := reference(v); ok {
			text, err := r.read(ref)
			if err != nil {
				r.errs = append(r.errs, err)
				return fmt.Sprintf("[%d bytes cannot be shown: %v]", ref.bytes, err)
			}
			return text
		}
		out := make(map[string]any, len(in))
		for key, inner := range in {
			if strings.HasSuffix(key, "$"+blobKey) && strings.Trim(key[:len(key)-len(blobKey)], "$") == "" {
				key = key[1:]
			}
			out[key] = r.value(inner)
		}
		return out
	}
	return v
}

// blobRef is what stands for a blob.
type blobRef struct {
	hash  string
	bytes int64
	json  bool
}

func reference(v any) (blobRef, bool) {
	in, ok := v.(map[string]any)
	if !ok {
		return blobRef{}, false
	}
	hash, ok := in[blobKey].(string)
	if !ok {
		return blobRef{}, false
	}
	ref := blobRef{hash: hash}
	switch n := in[bytesKey].(type) {
	case json.Number:
		ref.bytes, _ = n.Int64() // else 0
	case float64:
		if n >= 0 && n <= mostBlob+1 {
			ref.bytes = int64(n)
		}
	}
	ref.json, _ = in[jsonKey].(bool)
	return ref, true
}

// read reads a blob that is what its name says.
func (r *resolver) read(ref blobRef) (string, error) {
	if len(ref.hash) != 64 || strings.Trim(ref.hash, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%.80q is not the hash of a blob", ref.hash)
	}
	if ref.bytes > r.left || ref.bytes > mostBlob {
		return "", fmt.Errorf("the blob %s is too large", ref.hash)
	}
	text, err := plainfile.Read(r.root, blobName(ref.hash), max(ref.bytes, 0))
	if err != nil {
		return "", fmt.Errorf("the blob cannot be read: %w", err)
	}
	r.left -= int64(len(text))
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != ref.hash {
		return "", fmt.Errorf("the blob %s was changed since it was written", ref.hash)
	}
	return string(text), nil
}

// hasBlobs reports whether a line may have blobs, or keys that were changed because of them.
func hasBlobs(line []byte) bool { return bytes.Contains(line, []byte(blobKey+`"`)) }
