package pack_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/pack"
	"github.com/seer-engine/seer/sdk/wasmfile"
)

func files(t *testing.T, wasm []byte, manifest string) (string, string) {
	t.Helper()
	dir := t.TempDir()
	w, m := filepath.Join(dir, "x.wasm"), filepath.Join(dir, pack.ManifestFile)
	for path, data := range map[string][]byte{w: wasm, m: []byte(manifest)} {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return w, m
}

var empty = []byte{0, 'a', 's', 'm', 1, 0, 0, 0}

func TestFiles(t *testing.T) {
	const manifest = "# mine\nid: 'expose-x' # and only mine\nversion: 0.1.0\n"
	wasm, yaml := files(t, empty, manifest)
	out := filepath.Join(t.TempDir(), "new", "folder")
	path, err := pack.Files(wasm, yaml, out)
	if err != nil || path != filepath.Join(out, "expose-x.wasm") {
		t.Fatalf("Files = %q, %v", path, err)
	}
	code, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := wasmfile.Parse(code)
	if got, ok := m.Custom(sdk.ManifestSection); err != nil || !ok || string(got) != manifest {
		t.Errorf("section %q, %v, %v", got, ok, err)
	}
	if beside, err := os.ReadFile(filepath.Join(out, "expose-x.yaml")); err != nil || string(beside) != manifest {
		t.Errorf("beside: %q, %v", beside, err)
	}
	// Packing what is packed changes nothing; with another manifest it is refused.
	if _, err := pack.Files(path, yaml, out); err != nil {
		t.Error(err)
	}
	_, other := files(t, empty, "id: expose-y\n")
	if _, err := pack.Files(path, other, out); err == nil || !strings.Contains(err.Error(), "another manifest") {
		t.Errorf("error = %v", err)
	}
	if entries, _ := os.ReadDir(out); len(entries) != 2 {
		t.Errorf("left: %v", entries)
	}
}

func TestRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		wasm     []byte
		manifest string
		text     string
	}{
		"no id":    {empty, "version: 1.0.0\n", "no line `id:"},
		"bad id":   {empty, "id: ../x\n", "no line `id:"},
		"not wasm": {[]byte("x"), "id: x\n", "not a Wasm binary"},
	} {
		wasm, yaml := files(t, tc.wasm, tc.manifest)
		if _, err := pack.Files(wasm, yaml, t.TempDir()); err == nil || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// module has the given imports of functions and exports of functions, all of the type
// () → ().
func module(host []string, exports []string) []byte {
	name := func(s string) []byte { return append([]byte{byte(len(s))}, s...) }
	section := func(id byte, items [][]byte) []byte {
		body := []byte{byte(len(items))}
		for _, item := range items {
			body = append(body, item...)
		}
		return append(append([]byte{id}, binary.AppendUvarint(nil, uint64(len(body)))...), body...)
	}
	var imports, exported [][]byte
	for _, f := range host {
		imports = append(imports, append(append(name(sdk.HostModule), name(f)...), 0, 0))
	}
	for _, f := range exports {
		exported = append(exported, append(name(f), 0, 0))
	}
	return slices.Concat(empty, section(2, imports), section(7, exported))
}

func TestNeeds(t *testing.T) {
	code := module([]string{sdk.HostHTTPOpen, sdk.HostStreamWait, "from_the_future"}, append(sdk.KindFetcher.Exports(), sdk.ExportProviderList))
	wasm, yaml := files(t, code, "id: fetch-x\n")
	path, err := pack.Files(wasm, yaml, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if code, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	m, err := wasmfile.Parse(code)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := m.Custom(sdk.NeedsSection)
	want := `{"contract":["fetcher/1"],"seer":"0.1.0","host":{"http_open":"0.1.0","stream_wait":"0.1.0"}}`
	if string(text) != want {
		t.Errorf("needs %s, want %s", text, want)
	}
}
