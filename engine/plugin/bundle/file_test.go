package bundle_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/sdk"
)

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "with spaces", "und Ümläut ✓")
	b := make1(t)
	b.Signature, b.Report = []byte("signed"), []byte("{}")
	path, err := b.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, origin, err := bundle.ReadFile(path)
	if err != nil || !reflect.DeepEqual(got, b) || origin.Reference != path || origin.Resolved != path || origin.OCI != "" {
		t.Fatalf("%+v, %+v, %v", got, origin, err)
	}
	t.Chdir(dir)
	if _, origin, err := bundle.ReadFile("provider-tiny.wasm"); err != nil || origin.Resolved != path {
		t.Errorf("%+v, %v", origin, err)
	}

	// What an earlier build had is not this one's.
	b.Signature, b.Report = nil, nil
	if _, err := b.Write(dir); err != nil {
		t.Fatal(err)
	}
	if got, _, err := bundle.ReadFile(path); err != nil || !reflect.DeepEqual(got, b) {
		t.Errorf("%+v, %v", got, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("left: %v", entries)
	}

	// The manifest inside is enough, and so is the one beside.
	if err := os.Remove(filepath.Join(dir, "provider-tiny.yaml")); err != nil {
		t.Fatal(err)
	}
	if again, _, err := bundle.ReadFile(path); err != nil || again.Digest() != got.Digest() {
		t.Error(err)
	}
	write(t, filepath.Join(dir, "bare.wasm"), empty)
	write(t, filepath.Join(dir, "bare.yaml"), []byte(yaml))
	if bare, _, err := bundle.ReadFile(filepath.Join(dir, "bare.wasm")); err != nil || bare.ID != "provider-tiny" {
		t.Error(err)
	}
}

func TestFilesRefused(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("text.wasm"), []byte("hello"))
	write(t, at("text.txt"), module(yaml))
	write(t, at("other.wasm"), module(yaml))
	write(t, at("other.yaml"), []byte("id: x\nversion: 1.0.0\n"))
	write(t, at("signed.wasm"), module(yaml))
	write(t, at("signed.wasm.sig"), make([]byte, bundle.MaxSignature+1))
	write(t, at("huge.wasm"), nil)
	// 2 GB without a byte on the disk: were it read, the machine would notice.
	if err := os.Truncate(at("huge.wasm"), 2<<30); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(at("folder.wasm"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(at("pipe.wasm"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"text.wasm": "not a Wasm binary", "text.txt": "ends in .wasm", "other.wasm": "not the one inside",
		"signed.wasm": "signed.wasm.sig: the signature is larger than 16 KiB", "huge.wasm": "larger than 256 MiB",
		"folder.wasm": "a folder", "pipe.wasm": "not a regular file", "": "a folder", "none.wasm": "no such file",
	} {
		_, _, err := bundle.ReadFile(at(name))
		if err == nil || !strings.HasPrefix(err.Error(), at(name)+": ") || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := bundle.ReadFile(at("none.wasm")); sdk.CodeOf(err) != sdk.NotFound {
		t.Errorf("%v", err)
	}
	b := make1(t)
	if _, err := b.Write(at("text.txt")); err == nil {
		t.Error("written into a file")
	}
}
