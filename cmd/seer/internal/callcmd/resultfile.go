package callcmd

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/protocol/value"
)

// taggedResult is a result that is one thing with a buffer.
type taggedResult struct {
	Array *struct {
		DType  string  `json:"dtype"`
		Shape  []int64 `json:"shape"`
		Buffer int     `json:"buffer"`
	} `json:"array"`
	Image *struct {
		Format string `json:"format"`
		Buffer int    `json:"buffer"`
	} `json:"image"`
	Bytes *int `json:"bytes"`
}

// writeValue writes a result as the end of a file's name wants it. One array, image or
// bytes passes through without being in memory.
func writeValue(w io.Writer, ext string, tagged bool, size int64, body io.Reader) error {
	s, err := value.Open(body, size, value.Limits{})
	if err != nil {
		return err
	}
	var one struct {
		Tag taggedResult `json:"$seer"`
	}
	if tagged && ext != ".json" && len(s.Size) == 1 && json.Unmarshal(s.JSON, &one) == nil {
		part, err := s.Next()
		if err != nil {
			return err
		}
		if done, err := writeSingle(w, ext, one.Tag, part); done || err != nil {
			return err
		}
		return formatError(ext)
	}
	v := value.Value{JSON: s.JSON, Tagged: tagged}
	for range s.Size {
		part, err := s.Next()
		if err != nil {
			return err
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		v.Parts = append(v.Parts, data)
	}
	return writeWhole(w, ext, v)
}

func writeSingle(w io.Writer, ext string, one taggedResult, part io.Reader) (done bool, err error) {
	switch {
	case one.Array != nil && ext == ".npy":
		return true, writeNPY(w, one.Array.DType, one.Array.Shape, part)
	case one.Array != nil && ext != ".raw" && ext != ".bin":
		return false, nil
	case one.Image != nil && ext != "."+one.Image.Format && ext != ".raw" && ext != ".bin" && (ext != ".jpg" || one.Image.Format != "jpeg"):
		return false, nil
	case one.Array != nil, one.Image != nil, one.Bytes != nil:
		return true, copyLarge(w, part)
	}
	return false, nil
}

// writeWhole writes what is in memory.
func writeWhole(w io.Writer, ext string, v value.Value) error {
	var text string
	if json.Unmarshal(v.JSON, &text) == nil && ext != ".json" && ext != ".npy" {
		_, err := io.WriteString(w, text)
		return err
	}
	if ext != ".json" && ext != ".raw" {
		return formatError(ext)
	}
	if err := v.WritePlain(w, value.PlainOptions{}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func formatError(ext string) error {
	return &engine.Error{Kind: engine.KindConfig, Err: fmt.Errorf("the result does not fit a file that ends with %q; .json takes anything, .npy and .raw an array, .raw bytes and images", ext)}
}

// copyLarge copies in pieces that are worth their calls of the system.
func copyLarge(w io.Writer, r io.Reader) error {
	_, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, 1<<20))
	return err
}
