package veil

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/seer-engine/seer/engine/pyjson"
	"github.com/seer-engine/seer/sdk"
)

const (
	maxJSON   = 64 << 20
	maxHeader = 100 << 20 // of a safetensors file, as its own library has it
)

// telling are keys whose values say where a model comes from.
var telling = [...]string{"_name_or_path", "name_or_path", "base_model_name_or_path", "_commit_hash", "model_card", "repo_id"}

// json copies a JSON file without what tells the name; one that tells nothing is
// linked.
func (m *maker) json(ctx context.Context, name, from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	clean, changed, err := m.cleanJSON(data)
	if err != nil {
		if m.words.In(data) {
			return sdk.Errorf(sdk.Unsupported, "the model cannot be hidden: %s has the name in it and is no JSON that could be changed: %v", name, err)
		}
		return link(ctx, from, to)
	}
	if !changed {
		return link(ctx, from, to)
	}
	if m.words.In(clean) { // in the name of a key
		return sdk.Errorf(sdk.Unsupported, "the model cannot be hidden: a key in %s has the name in it; take it out", name)
	}
	m.report.Changed = append(m.report.Changed, name)
	return os.WriteFile(to, clean, 0o600)
}

func (m *maker) cleanJSON(data []byte) (clean []byte, changed bool, err error) {
	strict, back := pyjson.Strict(data)
	d := json.NewDecoder(bytes.NewReader(strict))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, false, err
	}
	if v, changed = m.clean(v); !changed && !m.words.In(data) {
		return data, false, nil
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(v)
	return back(out.Bytes()), true, err
}

// clean takes the telling keys out, and the words out of texts.
func (m *maker) clean(v any) (any, bool) {
	changed := false
	switch x := v.(type) {
	case map[string]any:
		for _, key := range telling {
			if _, has := x[key]; has {
				delete(x, key)
				changed = true
			}
		}
		for key, item := range x {
			c, did := m.clean(item)
			x[key], changed = c, changed || did
		}
	case []any:
		for i, item := range x {
			c, did := m.clean(item)
			x[i], changed = c, changed || did
		}
	case string:
		if m.words.In([]byte(x)) {
			return "hidden", true
		}
	}
	return v, changed
}

// safetensors veils the texts in the header of a file of tensors. Its length stays, so
// that the tensors can stay where they are.
func (m *maker) safetensors(ctx context.Context, name, from, to string) error {
	header, err := readHeader(from)
	if err != nil {
		return sdk.Errorf(sdk.Invalid, "%s is not a file of safetensors: %v", name, err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(header, &fields); err != nil {
		return sdk.Errorf(sdk.Invalid, "%s is not a file of safetensors: its header is no JSON: %v", name, err)
	}
	if !m.words.In(fields["__metadata__"]) {
		if m.words.In(header) {
			return sdk.Errorf(sdk.Unsupported, "the model cannot be hidden: a tensor in %s has the name in its own", name)
		}
		return link(ctx, from, to)
	}
	fields["__metadata__"] = json.RawMessage(`{"format":"pt"}`)
	clean, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	if len(clean) > len(header) {
		return fmt.Errorf("the header of %s has grown", name)
	}
	clean = append(clean, bytes.Repeat([]byte(" "), len(header)-len(clean))...)
	if err := copyFile(ctx, from, to); err != nil {
		return err
	}
	m.report.Changed = append(m.report.Changed, name)
	return overwrite(to, clean, 8)
}

func readHeader(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var size uint64
	if err := binary.Read(f, binary.LittleEndian, &size); err != nil {
		return nil, err
	}
	if size > maxHeader {
		return nil, errors.New("its header is too long")
	}
	header := make([]byte, size)
	_, err = io.ReadFull(f, header)
	return header, err
}

func overwrite(path string, data []byte, at int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, at)
	return errors.Join(err, f.Close())
}
