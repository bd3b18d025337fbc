package host_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk"
)

// The hostile suite: the guest escape tries to get out of a naive host, which is Extism
// with its own HTTP and paths, and out of ours. An attack counts only where it is shown
// to succeed against the naive one (hostile_naive_test.go); those on what only we have
// are in hostile_abi_test.go, those of a module before it runs in hostile_module_test.go.
//
// Other attacks are tested where their defence is: URLs, headers, redirects with a
// credential, echoes, captures and endless answers in egress (TestDenied,
// TestRedirectElsewhereWithTheCredential, TestSecretEchoed, TestHostileBodies,
// TestCapture…, TestPublic); folders in TestFolders; panic, exit and bad answers in
// TestMisbehaviour; lies about a module in TestScanFaults and package wasmfile.

// order is what the guest is told to try; see its main.go.
type order map[string]any

// escapeDir has the guest.
func escapeDir(t testing.TB) string {
	t.Helper()
	return guests(t, "escape")
}

// escapist is the guest in our host. Endpoint is what its user has configured; "" =
// nothing.
func escapist(t testing.TB, endpoint string, o host.Options) *host.Host {
	t.Helper()
	env := map[string]string{"ESCAPE_URL": endpoint, "ESCAPE_KEY": escapeKey}
	o.Dirs, o.Access = []string{escapeDir(t)}, host.GrantAll
	o.Env = func(name string) (string, string, bool) { v := env[name]; return v, "the test", v != "" }
	return open(t, o)
}

const escapeKey = "sk-escape-0123456789"

// try lets the guest try something in our host.
func try(ctx context.Context, h *host.Host, what order) (string, error) {
	e, err := h.Exposer(ctx, "escape")
	if err != nil {
		return "", err
	}
	options, err := json.Marshal(what)
	if err != nil {
		return "", err
	}
	s, err := e.Expose(ctx, sdk.ExposeRequest{Name: "tools", Options: options})
	return s.Prompt, err
}

// wantUsable checks that the next call works.
func wantUsable(t *testing.T, h *host.Host) {
	t.Helper()
	if got, err := try(t.Context(), h, order{"do": "remember"}); err != nil {
		t.Errorf("the next call: %q, %v", got, err)
	}
}

// naive is what an embedder gets who uses Extism as its documentation shows.
type naive struct {
	compiled *extism.CompiledPlugin
	log      func(extism.LogLevel, string)
}

// naively makes the naive host, with what its manifest allows.
func naively(t testing.TB, m extism.Manifest) *naive {
	t.Helper()
	ctx := context.Background()
	m.Wasm = []extism.Wasm{extism.WasmFile{Path: filepath.Join(escapeDir(t), "expose-escape.wasm")}}
	cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(cacheDir, "naive"))
	if err != nil {
		t.Fatal(err)
	}
	config := extism.PluginConfig{EnableWasi: true, RuntimeConfig: wazero.NewRuntimeConfig().WithCompilationCache(cache)}
	compiled, err := extism.NewCompiledPlugin(ctx, m, config, noFunctions())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := compiled.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return &naive{compiled: compiled}
}

// instance makes one; it may be called more than once.
func (n *naive) instance(t testing.TB) *extism.Plugin {
	t.Helper()
	p, err := n.compiled.Instance(context.Background(), extism.PluginInstanceConfig{})
	if err != nil {
		t.Fatal(err)
	}
	p.SetLogger(func(level extism.LogLevel, text string) {
		if n.log != nil {
			n.log(level, text)
		}
	})
	t.Cleanup(func() { _ = p.Close(context.Background()) })
	return p
}

// tryOn lets the guest try something in an instance of the naive host.
func tryOn(ctx context.Context, t testing.TB, p *extism.Plugin, what order) string {
	t.Helper()
	input, err := json.Marshal(map[string]any{"name": "tools", "interface": map[string]any{}, "options": what})
	if err != nil {
		t.Fatal(err)
	}
	_, out, err := p.CallWithContext(ctx, sdk.ExportExpose, input)
	if err != nil {
		t.Fatalf("the attack %v does not work: %v", what["do"], err)
	}
	var e sdk.Envelope
	var s sdk.Surface
	if err := json.Unmarshal(out, &e); err != nil || e.Error != nil {
		t.Fatalf("the attack %v does not work: %.300s, %v", what["do"], out, err)
	}
	if err := json.Unmarshal(e.OK, &s); err != nil {
		t.Fatal(err)
	}
	return s.Prompt
}

func wantText(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("%.500q does not contain %q", got, part)
		}
	}
}

// noFunctions are our functions in the naive host, where they do nothing.
func noFunctions() []extism.HostFunction {
	i64, i32 := extism.ValueTypeI64, extism.ValueTypeI32
	types := map[string][2][]extism.ValueType{
		sdk.HostStreamSend:   {{i64, i64, i32}, {i32}},
		sdk.HostStreamCredit: {{i64, i64}, nil},
	}
	var out []extism.HostFunction
	for _, f := range sdk.HostFunctions() {
		signature, ok := types[f.Name]
		if !ok {
			signature = [2][]extism.ValueType{{i64}, {i64}}
		}
		nothing := extism.NewHostFunctionWithStack(f.Name, func(_ context.Context, _ *extism.CurrentPlugin, stack []uint64) {
			if len(stack) > 0 {
				stack[0] = 0
			}
		}, signature[0], signature[1])
		nothing.SetNamespace(sdk.HostModule)
		out = append(out, nothing)
	}
	return out
}

// outcomes are what the guest tells of requests, one by one.
func outcomes(t *testing.T, text string) []string {
	t.Helper()
	var out []string
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}
