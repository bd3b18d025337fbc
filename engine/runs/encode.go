package runs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/plainfile"
)

const (
	mostInline = 16 << 10 // bytes of a text in the log; longer ones are blobs
	mostData   = 1 << 20  // bytes of the data of an event in the log; larger ones are a blob
	mostLine   = 4 << 20  // bytes of a line that is read
	mostBlob   = 80 << 20 // bytes of a blob: the longest line of an agent is 64 MiB
	mostDepth  = 500      // levels of data in the log; what is deeper is its JSON, as a text
)

// Keys of the object that stands for a blob. An own key of the data that is blobKey, or blobKey with
// more dollar signs before it, has one more in the log.
const (
	blobKey  = "$blob"
	bytesKey = "bytes"
	jsonKey  = "json" // true: the blob is the JSON of a value, and not a text
)

// logLine is a line of the log.
type logLine struct {
	Seq    int64           `json:"seq"`
	Time   time.Time       `json:"time"`
	Run    string          `json:"run"`
	Source string          `json:"source"`
	Type   event.Type      `json:"type"`
	Data   json.RawMessage `json:"data"`
}

// encode makes the line of an event and writes its blobs. A line with an error lacks a blob.
func (f *Folder) encode(e event.Event) ([]byte, error) {
	if u, ok := e.Data.(event.AgentUpdate); ok && deeper(u.Update, mostDepth) {
		u.Update, _ = flat(u.Update, mostDepth).(map[string]any)
		e.Data = u
	}
	data, err := marshal(e.Data)
	if err != nil {
		return nil, err
	}
	var lost error
	if len(data) > mostInline || bytes.Contains(data, []byte(blobKey[1:]+`"`)) || bytes.Contains(data, []byte(`\u00`)) {
		if data, lost, err = f.outline(data); err != nil {
			return nil, err
		}
	}
	line, err := marshal(logLine{e.Seq, e.Time, e.Run, e.Source, e.Type, data})
	if err != nil {
		return nil, err
	}
	return append(line, '\n'), lost
}

// marshal is json.Marshal that leaves <, > and & as they are.
func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// decode reads JSON and keeps numbers as they are written.
func decode(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

// outline puts long texts of the data into blobs. lost is why one is not on the disk.
func (f *Folder) outline(data []byte) (out []byte, lost, err error) {
	v, err := decode(data)
	if err != nil {
		return nil, nil, err
	}
	o := outliner{f: f}
	out, err = marshal(o.value(v))
	if err == nil && len(out) > mostBlob {
		err = fmt.Errorf("an event has %d bytes of data", len(out))
	}
	if err == nil && len(out) > mostData {
		out, err = marshal(o.blob(string(out), true))
	}
	return out, errors.Join(o.errs...), err
}

// outliner replaces long texts by blobs.
type outliner struct {
	f    *Folder
	errs []error
}

func (o *outliner) value(v any) any {
	switch v := v.(type) {
	case string:
		if len(v) > mostInline {
			return o.blob(v, false)
		}
	case []any:
		for i := range v {
			v[i] = o.value(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, inner := range v {
			if strings.HasSuffix(key, blobKey) && strings.Trim(key[:len(key)-len(blobKey)], "$") == "" {
				key = "$" + key
			}
			out[key] = o.value(inner)
		}
		return out
	}
	return v
}

// blob writes a text and returns what stands for it. Texts that a reader would refuse are cut.
func (o *outliner) blob(text string, isJSON bool) map[string]any {
	if len(text) > mostBlob && !isJSON {
		note := fmt.Sprintf("\n… (%d bytes are left out)", len(text)-mostBlob)
		text = strings.ToValidUTF8(text[:mostBlob-len(note)], "") + note
	}
	sum := sha256.Sum256([]byte(text))
	hash := hex.EncodeToString(sum[:])
	if err := o.f.put(hash, text); err != nil {
		o.errs = append(o.errs, err)
	}
	ref := map[string]any{blobKey: hash, bytesKey: len(text)}
	if isJSON {
		ref[jsonKey] = true
	}
	return ref
}

// blobName is the file of a blob in the folder.
func blobName(hash string) string { return path.Join(BlobsName, hash[:2], hash) }

// put writes a blob, if it is not there.
func (f *Folder) put(hash, text string) error {
	name := blobName(hash)
	if info, err := f.root.Lstat(name); err == nil && info.Mode().IsRegular() && info.Size() == int64(len(text)) {
		return nil
	}
	if err := f.root.Mkdir(path.Dir(name), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := plainfile.Write(f.root, name, []byte(text), 0o600); err != nil {
		return err
	}
	f.blobs = append(f.blobs, name)
	return nil
}

// deeper reports whether a value has more levels than n.
func deeper(v any, n int) bool {
	switch v := v.(type) {
	case []any:
		for _, inner := range v {
			if n == 0 || deeper(inner, n-1) {
				return true
			}
		}
	case map[string]any:
		for _, inner := range v {
			if n == 0 || deeper(inner, n-1) {
				return true
			}
		}
	}
	return false
}

// flat is v with what is deeper than n levels as the text of its JSON: encoding/json reads no more
// than 10,000 levels.
func flat(v any, n int) any {
	switch in := v.(type) {
	case []any:
		if n == 0 {
			return asText(v)
		}
		out := make([]any, len(in))
		for i := range in {
			out[i] = flat(in[i], n-1)
		}
		return out
	case map[string]any:
		if n == 0 {
			return asText(v)
		}
		out := make(map[string]any, len(in))
		for key, inner := range in {
			out[key] = flat(inner, n-1)
		}
		return out
	}
	return v
}

func asText(v any) any {
	text, err := marshal(v)
	if err != nil {
		return fmt.Sprintf("(%v)", err)
	}
	return string(text)
}
