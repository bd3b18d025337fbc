package host

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/wasmfile"
)

// module is a Wasm module with one imported function, that exports expose.
func testModule(host, function string, sections map[string]string) []byte {
	text := func(b []byte, s string) []byte { return append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	section := func(id byte, body []byte) []byte {
		return append(binary.AppendUvarint([]byte{id}, uint64(len(body))), body...)
	}
	b := []byte{0, 'a', 's', 'm', 1, 0, 0, 0}
	b = append(b, section(1, []byte{1, 0x60, 0, 0})...)
	b = append(b, section(2, append(text(text([]byte{1}, host), function), 0, 0))...)
	b = append(b, section(7, append(text([]byte{1}, sdk.ExportExpose), 0, 0))...)
	for name, content := range sections {
		b = wasmfile.AppendCustom(b, name, []byte(content))
	}
	return b
}

const plainManifest = "id: expose-new\nversion: 1.0.0\nimplements: [expose/1]\nprovides: [new]\n"

// What a module needs is known before it is compiled, and an old program says which one
// would do.
func TestNeeds(t *testing.T) {
	needs, err := json.Marshal(sdk.Needs{Contract: []string{"expose/1"}, Seer: "0.9.0", Host: map[string]string{"grpc_open2": "0.9.0", "http_open": "0.1.0"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		function, manifest, needs, version string
		fault                              Fault // "" = it can be used
		text                               string
	}{
		"all there":         {"http_open", plainManifest, string(needs), "v0.1.0", "", ""},
		"later function":    {"grpc_open2", plainManifest, string(needs), "v0.1.0", FaultImports, "needs seer ≥ 0.9.0 (this is v0.1.0): host function grpc_open2"},
		"unknown version":   {"grpc_open2", plainManifest, string(needs), "43c751d", FaultImports, "needs seer ≥ 0.9.0 (this is 43c751d): host function grpc_open2"},
		"not noted":         {"grpc_open2", plainManifest, "", "v0.1.0", FaultImports, `needs the host function "grpc_open2"`},
		"noted wrongly":     {"grpc_open2", plainManifest, "[1]", "v0.1.0", FaultImports, `needs the host function "grpc_open2"`},
		"noted too early":   {"grpc_open2", plainManifest, string(needs), "v1.2.3", FaultImports, `needs the host function "grpc_open2"`},
		"no version noted":  {"grpc_open2", plainManifest, `{"host":{"grpc_open2":"\u001b[2J"}}`, "v0.1.0", FaultImports, `needs the host function "grpc_open2"`},
		"later contract":    {"http_open", strings.Replace(plainManifest, "expose/1", "expose/2", 1), string(needs), "v0.1.0", FaultVersion, "needs seer ≥ 0.9.0"},
		"later contract 2":  {"http_open", strings.Replace(plainManifest, "expose/1", "expose/2", 1), "", "v0.1.0", FaultVersion, "needs expose/2, this seer speaks expose/1"},
		"later key":         {"http_open", plainManifest + "teleport: true\n", string(needs), "v0.1.0", FaultVersion, "needs seer ≥ 0.9.0 (this is v0.1.0): invalid manifest"},
		"key of no version": {"http_open", plainManifest + "teleport: true\n", string(needs), "v0.9.0", FaultManifest, "field teleport is not a key of a manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			sections := map[string]string{sdk.ManifestSection: tc.manifest}
			if tc.needs != "" {
				sections[sdk.NeedsSection] = tc.needs
			}
			if err := os.WriteFile(filepath.Join(dir, "expose-new.wasm"), testModule(sdk.HostModule, tc.function, sections), 0o644); err != nil {
				t.Fatal(err)
			}
			h, err := New(Options{Dirs: []string{dir}, CacheDir: t.TempDir(), Version: tc.version})
			if err != nil {
				t.Fatal(err)
			}
			plugins, errs := h.Plugins(t.Context())
			if tc.fault == "" {
				if len(plugins) != 1 || len(errs) != 0 {
					t.Errorf("plugins = %v, %v", plugins, errs)
				}
				return
			}
			var e *Error
			if len(errs) != 1 || !errors.As(errs[0], &e) || e.Fault != tc.fault || !strings.Contains(e.Error(), tc.text) || strings.ContainsAny(e.Error(), "\x1b\n") {
				t.Errorf("errors = %v, want %s with %q", errs, tc.fault, tc.text)
			}
		})
	}
}

func TestReleases(t *testing.T) {
	for _, tc := range []struct {
		since, version string
		newer          bool
	}{
		{"0.2.0", "0.1.9", true}, {"0.2.0", "v0.2.0", false}, {"0.2.0", "v0.2.0-5-g43c751d", false}, {"0.10.0", "0.9.9", true}, {"1.0.0", "0.99.99", true},
		{"0.1.0", "dev", true}, {"0.1.0", "", true}, {"later", "0.1.0", false}, {"", "", false}, {"0.2", "0.1.0", false},
	} {
		if got := isNewer(tc.since, tc.version); got != tc.newer {
			t.Errorf("%q is newer than %q: %v", tc.since, tc.version, got)
		}
	}
}

// After many rebuilds and grants a few modules of a file are kept, and none that is in
// use is closed.
func TestModulesAreLetGo(t *testing.T) {
	h := &Host{loaded: map[string]*loading{}, retired: map[*loading]struct{}{}}
	use := func(key string) *loading {
		l := &loading{done: make(chan struct{}), file: "x.wasm", users: 1, number: h.uses}
		close(l.done)
		h.uses++
		h.loaded[key] = l
		if old := h.retire("x.wasm"); old != nil && old.users > 0 {
			t.Errorf("one in use was let go: %+v", old)
		}
		return l
	}
	first := use("first")
	h.loaded["other"] = &loading{file: "y.wasm"}
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		h.release(t.Context(), use(key))
	}
	if len(h.loaded) != maxLoaded+1 || h.loaded["other"] == nil || h.loaded["e"] == nil {
		t.Errorf("kept: %v", h.loaded)
	}
	if _, waits := h.retired[first]; !waits || !first.stale {
		t.Error("the one in use is not waited for")
	}
	h.release(t.Context(), first)
	if len(h.retired) != 0 {
		t.Error("it was not let go after its last use")
	}
}
