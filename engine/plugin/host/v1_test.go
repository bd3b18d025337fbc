package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk"
)

// The modules in testdata/v1 were built once, and are never rebuilt while Seer speaks
// version 1 of the contract: what somebody has published must go on working. Each uses
// every field of its contract, and the files beside them say what came of it then. A test
// here that fails means that the host has changed for plugins that exist.

// v1Case is one call of a fixture.
type v1Case struct {
	Call   string          `json:"call"`
	Input  json.RawMessage `json:"input,omitempty"`
	Told   json.RawMessage `json:"told,omitempty"` // what the plugin sent to its server
	Result json.RawMessage `json:"result,omitempty"`
	Error  *v1Error        `json:"error,omitempty"`
}

type v1Error struct {
	Code    sdk.Code `json:"code"`
	Fault   string   `json:"fault,omitempty"` // of the host, where the error is not the plugin's own
	Message string   `json:"message"`
	After   float64  `json:"after_seconds,omitempty"`
}

func v1Cases(t *testing.T, file string) []v1Case {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "v1", file))
	if err != nil {
		t.Fatal(err)
	}
	var cases []v1Case
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return cases
}

// check compares what came of a call with what came of it then.
func (c v1Case) check(t *testing.T, result any, err error) {
	t.Helper()
	if c.Error != nil || err != nil {
		if got := v1ErrorOf(err); c.Error == nil || got == nil || *got != *c.Error {
			t.Errorf("the error is %+v, and was %+v", got, c.Error)
		}
		return
	}
	got, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, "the result", got, c.Result)
}

func v1ErrorOf(err error) *v1Error {
	if err == nil {
		return nil
	}
	e := &v1Error{Code: sdk.CodeOf(err), Message: err.Error()}
	var own *sdk.Error
	var fault *host.Error
	if errors.As(err, &own) {
		e.After = own.Seconds
	} else if errors.As(err, &fault) {
		_, e.Message, _ = strings.Cut(e.Message, ".wasm): ") // without the path
		e.Fault = string(fault.Fault)
	}
	return e
}

func sameJSON(t *testing.T, what string, got, want json.RawMessage) {
	t.Helper()
	if !reflect.DeepEqual(exact(t, got), exact(t, want)) {
		t.Errorf("%s is\n%s\nand was\n%s", what, got, want)
	}
}

// exact decodes JSON with all digits.
func exact(t *testing.T, text json.RawMessage) any {
	t.Helper()
	if len(text) == 0 {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func decode[T any](t *testing.T, raw json.RawMessage) (v T) {
	t.Helper()
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
	}
	return v
}

func openV1(t *testing.T, o host.Options) *host.Host {
	t.Helper()
	o.Dirs = []string{filepath.Join("testdata", "v1")}
	return open(t, o)
}

func TestFixturesV1(t *testing.T) {
	frozen := map[string]string{
		"provider-v1": "sha256:dcf4479553e8e3c81c7f095b2c1fcd5833f70f9c74f251543d9af1375808ef05",
		"fetch-v1":    "sha256:07664e4e70d7137a25d8ce0cbae1fcbf13b19751fcc41acca67d12c515b1eee4",
		"expose-v1":   "sha256:d8fad7c05f1e2160e5b6d7abb86f31ffe8c6f129d72b334b1f2e1a906e6c5ccc",
	}
	plugins, errs := openV1(t, host.Options{}).Plugins(context.Background())
	if len(plugins) != len(frozen) || len(errs) > 0 {
		t.Errorf("%d plugins, %v", len(plugins), errs)
	}
	for _, p := range plugins {
		if p.Digest != frozen[p.Manifest.ID] {
			t.Errorf("%s was rebuilt or changed: it is %s; a new fixture gets a new name", p.File, p.Digest)
		}
	}
}

func TestProviderV1(t *testing.T) {
	server := serveV1(t)
	h := openV1(t, server.options())
	p, err := h.Provider(context.Background(), "v1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range v1Cases(t, "provider-v1.json") {
		t.Run(c.Call+" "+string(c.Input[:min(len(c.Input), 40)]), func(t *testing.T) {
			result, err := callProvider(t, p, c)
			c.check(t, result, err)
			sameJSON(t, "what the server was told", server.told(), c.Told)
		})
	}
}

func callProvider(t *testing.T, p sdk.Provider, c v1Case) (any, error) {
	ctx := context.Background()
	switch c.Call {
	case "describe":
		return p.Describe(ctx)
	case "offers":
		return p.Offers(ctx, decode[sdk.OfferQuery](t, c.Input))
	case "create":
		in := decode[sdk.CreateInput](t, c.Input)
		return p.Create(ctx, in.Spec, in.Cursor)
	case "observe":
		return p.Observe(ctx, decode[sdk.ObserveInput](t, c.Input).Handles)
	case "list":
		return p.List(ctx, decode[sdk.ListInput](t, c.Input).Owner)
	case "snapshot":
		in := decode[sdk.SnapshotInput](t, c.Input)
		return p.(sdk.Snapshotter).Snapshot(ctx, in.Handle, in.Key, in.Cursor)
	case "terminate":
		return nil, p.Terminate(ctx, decode[sdk.TerminateInput](t, c.Input).Handle)
	}
	t.Fatalf("there is no call %q", c.Call)
	return nil, nil
}

func TestFetcherV1(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"b.bin": "\x00\xff", "notes/a.txt": "hello ä\n", "deep/er/c.txt": "", "skipped.md": "x"} {
		file := filepath.Join(folder, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := openV1(t, host.Options{}).Fetcher(context.Background(), "v1", folder)
	if err != nil {
		t.Fatal(err)
	}
	place := func(raw json.RawMessage) json.RawMessage {
		return json.RawMessage(strings.ReplaceAll(string(raw), "{folder}", folder))
	}
	for _, c := range v1Cases(t, "fetch-v1.json") {
		t.Run(c.Call, func(t *testing.T) {
			c.Input, c.Result = place(c.Input), place(c.Result)
			if c.Call == "locate" {
				l, err := f.Locate(context.Background(), decode[sdk.FileRef](t, c.Input))
				c.check(t, l, err)
				return
			}
			m, err := f.Resolve(context.Background(), decode[sdk.ModelRef](t, c.Input))
			c.check(t, m, err)
		})
	}
}

func TestExposeV1(t *testing.T) {
	h := openV1(t, host.Options{})
	e, err := h.Exposer(context.Background(), "v1")
	if err != nil {
		t.Fatal(err)
	}
	// The plugin is older than the rule that files are named after the service.
	first := decode[sdk.ExposeRequest](t, v1Cases(t, "expose-v1.json")[0].Input)
	if _, err := e.Expose(context.Background(), first); err == nil || !strings.Contains(err.Error(), "not named after the service") {
		t.Errorf("files of any name: %v", err)
	}
	h.AllowAnyFile()
	for _, c := range v1Cases(t, "expose-v1.json") {
		s, err := e.Expose(context.Background(), decode[sdk.ExposeRequest](t, c.Input))
		c.check(t, s, err)
	}
}
