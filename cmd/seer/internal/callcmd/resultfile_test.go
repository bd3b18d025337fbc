package callcmd

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine/protocol/value"
)

// TestWriteValue writes results as the end of a file's name wants them.
func TestWriteValue(t *testing.T) {
	array := value.Array{DType: "uint8", Shape: []int64{3}, Data: []byte{1, 2, 3}}
	picture := value.Image{Format: "png", Mode: "L", Width: 1, Height: 1, Data: []byte("PNG")}
	for _, c := range []struct {
		what any
		ext  string
		want string // empty = refused
	}{
		{array, ".raw", "\x01\x02\x03"},
		{array, ".json", "[1,2,3]\n"},
		{array, ".txt", ""},
		{array, "", ""},
		{[]byte("abc"), ".bin", "abc"},
		{[]byte("abc"), ".png", "abc"},
		{picture, ".png", "PNG"},
		{picture, ".raw", "PNG"},
		{picture, ".jpg", ""},
		{picture, ".npy", ""},
		{"text", ".txt", "text"},
		{"text", ".json", "\"text\"\n"},
		{"text", ".npy", ""},
		{map[string]any{"a": array}, ".json", "{\"a\":[1,2,3]}\n"},
		{map[string]any{"a": array}, ".npy", ""},
		{7, ".json", "7\n"},
	} {
		v, err := value.Encode(c.what)
		if err != nil {
			t.Fatal(err)
		}
		var body, out bytes.Buffer
		if _, err := v.WriteTo(&body); err != nil {
			t.Fatal(err)
		}
		err = writeValue(&out, c.ext, v.Tagged, int64(body.Len()), &body)
		switch {
		case c.want == "" && (err == nil || cli.KindOf(err) != "config"):
			t.Errorf("%v as %q: %q, %v", c.what, c.ext, out.String(), err)
		case c.want != "" && (err != nil || out.String() != c.want):
			t.Errorf("%v as %q: %q, %v", c.what, c.ext, out.String(), err)
		}
	}
}

// TestLargeResultPassesThrough writes an array that is larger than what is held.
func TestLargeResultPassesThrough(t *testing.T) {
	const size = 300 << 20
	var head bytes.Buffer
	v := value.Value{JSON: []byte(`{"$seer":{"array":{"dtype":"uint8","shape":[314572800],"buffer":1}}}`), Parts: [][]byte{make([]byte, size)}, Tagged: true}
	body, whole := io.Pipe()
	go func() {
		_, err := v.WriteTo(whole)
		whole.CloseWithError(err)
	}()
	n := &counter{}
	if err := writeValue(io.MultiWriter(n, io.Discard), ".npy", true, v.Size(), body); err != nil {
		t.Fatal(err)
	}
	if err := writeNPY(&head, "uint8", []int64{size}, strings.NewReader("")); err != nil {
		t.Fatal(err)
	}
	if n.n != int64(size+head.Len()) || n.most > 2<<20 {
		t.Errorf("%d bytes, the largest piece of %d", n.n, n.most)
	}
}

type counter struct {
	n    int64
	most int
}

func (c *counter) Write(p []byte) (int, error) {
	c.n, c.most = c.n+int64(len(p)), max(c.most, len(p))
	return len(p), nil
}
