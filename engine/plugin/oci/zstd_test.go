package oci

import (
	"bytes"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/seer-engine/seer/sdk"
)

func TestZstd(t *testing.T) {
	data := bytes.Repeat([]byte("module "), 1000)
	packed, err := compress(data)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := compress(data); !bytes.Equal(again, packed) {
		t.Error("not the same bytes again")
	}
	if back, err := decompress(packed, int64(len(data))); err != nil || !bytes.Equal(back, data) {
		t.Error(err)
	}
	// 4 MiB of nothing in some hundred bytes, with and without saying so.
	var hidden bytes.Buffer
	enc, err := zstd.NewWriter(&hidden)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 4<<20)
	_, err = enc.Write(zeros)
	if err == nil {
		err = enc.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	wide, err := zstd.NewWriter(nil, zstd.WithWindowSize(128<<20), zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	for name, bomb := range map[string][]byte{
		"said":    enc.EncodeAll(zeros, nil),
		"hidden":  hidden.Bytes(),
		"many":    bytes.Repeat(packed, 20), // frames, one after another
		"junk":    []byte("\x28\xb5\x2f\xfd then something"),
		"cut off": packed[:len(packed)/2],
		"lies":    {0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 0, 0}, // 2^63 bytes
		"window":  wide.EncodeAll(append(bytes.Clone(data), zeros...), nil)[:64],
	} {
		if out, err := decompress(bomb, 100_000); sdk.CodeOf(err) != sdk.Invalid || out != nil || !strings.Contains(err.Error(), "its module ") {
			t.Errorf("%s: %d bytes, %v", name, len(out), err)
		}
	}
}

func FuzzDecompress(f *testing.F) {
	packed, err := compress([]byte("module"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	f.Fuzz(func(t *testing.T, data []byte) {
		if out, err := decompress(data, 1<<16); err == nil && len(out) > 1<<16 {
			t.Fatal(len(out))
		}
	})
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"artifactType":"`+ArtifactType+`","config":{"mediaType":"`+manifestType+`","size":1},"layers":[{"mediaType":"`+wasmType+`","size":1}]}`), "application/vnd.oci.image.manifest.v1+json")
	f.Fuzz(func(t *testing.T, text []byte, mediaType string) {
		p, err := read(text, mediaType)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\x1b\n\r") {
				t.Fatalf("%q", err)
			}
			return
		}
		if p.manifest == nil || p.wasm == nil || p.wasm.Digest.Validate() != nil || p.wasm.Size < 0 {
			t.Fatalf("%+v", p)
		}
	})
}
