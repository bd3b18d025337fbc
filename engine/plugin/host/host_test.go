package host_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/host/hosttest"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/plugins/expose-library/library"
	"github.com/seer-engine/seer/plugins/expose-mcp/mcp"
	"github.com/seer-engine/seer/plugins/expose-prompt/prompt"
	"github.com/seer-engine/seer/sdk"
)

// cacheDir is shared by the tests of this package: compiling is slow, above all
// with the race detector.
var cacheDir string

func TestMain(m *testing.M) {
	testkit.Main(m, func(dir string) error { cacheDir = dir; return nil })
}

// prepare builds and compiles the plugins when the first test wants one: all at once,
// for each Prepare links a program.
var prepare = sync.OnceValue(func() error {
	const guests = "engine/plugin/host/testdata/guests/"
	return hosttest.Prepare(cacheDir, guests+"pretend", guests+"acme", guests+"shout", guests+"rogue", guests+"courier", guests+"escape",
		"plugins/expose-library", "plugins/expose-mcp", "plugins/expose-prompt", "plugins/fetch-folder")
})

func open(t testing.TB, o host.Options) *host.Host {
	t.Helper()
	if o.CacheDir == "" {
		o.CacheDir = cacheDir
	}
	if o.Access == nil {
		o.Access = host.GrantAll
	}
	if o.Limits.CallTime == 0 {
		o.Limits.CallTime = 5 * time.Minute // a busy computer with the race detector is slow
	}
	h, err := host.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return h
}

func guests(t testing.TB, names ...string) string {
	t.Helper()
	return folder(t, hosttest.Guest, names)
}

func builtIn(t testing.TB, ids ...string) string {
	t.Helper()
	return folder(t, hosttest.BuiltIn, ids)
}

// folder is a new one, with plugins that put puts there.
func folder(t testing.TB, put func(t testing.TB, dir string, ids ...string), ids []string) string {
	t.Helper()
	if err := prepare(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put(t, dir, ids...)
	return dir
}

// wantFault checks that err is one sentence about one plugin.
func wantFault(t *testing.T, err error, fault host.Fault, texts ...string) {
	t.Helper()
	var e *host.Error
	if !errors.As(err, &e) || e.Fault != fault {
		t.Fatalf("error = %v, want fault %s", err, fault)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q does not contain %q", err, text)
		}
	}
}

func expose(t testing.TB, h *host.Host, mode, options string) (sdk.Surface, error) {
	t.Helper()
	e, err := h.Exposer(context.Background(), mode)
	if err != nil {
		t.Fatal(err)
	}
	return e.Expose(context.Background(), sdk.ExposeRequest{
		Name: "tools", Interface: sdk.Interface{Functions: []sdk.Function{{Name: "embed"}, {Name: "ablate"}}},
		Options: json.RawMessage(options),
	})
}

// Plugins that the core has never heard of, one of each kind.

func TestUnknownExposeMode(t *testing.T) {
	h := open(t, host.Options{Dirs: []string{guests(t, "shout")}})
	got, err := expose(t, h, "shout", "")
	if err != nil {
		t.Fatal(err)
	}
	want := sdk.Surface{Prompt: "EMBED!\nABLATE!", Files: []sdk.SurfaceFile{{Path: "tools.txt", Text: "EMBED!\nABLATE!"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("surface = %+v, want %+v", got, want)
	}
}

func TestUnknownProvider(t *testing.T) {
	ctx := context.Background()
	h := open(t, host.Options{Dirs: []string{guests(t, "pretend")}})
	p, err := h.Provider(ctx, "pretend")
	if err != nil {
		t.Fatal(err)
	}
	info, err := p.Describe(ctx)
	if err != nil || info.Name != "pretend" || !info.Has(sdk.FeatureTags) {
		t.Errorf("Describe = %+v, %v", info, err)
	}
	offers, err := p.Offers(ctx, sdk.OfferQuery{})
	if err != nil || len(offers) != 1 || offers[0].CostPerHour != 0.5 {
		t.Errorf("Offers = %+v, %v", offers, err)
	}
	spec := sdk.MachineSpec{Key: "k1", Owner: "me", Options: json.RawMessage(`{"endpoint":"unix:/run/x.sock"}`)}
	step, err := p.Create(ctx, spec, nil)
	if err != nil || step.Handle != "" || len(step.Cursor) == 0 || step.Log[0] != "queued k1" {
		t.Fatalf("first Create = %+v, %v", step, err)
	}
	step, err = p.Create(ctx, spec, step.Cursor)
	if err != nil || step.Handle == "" || step.Cursor != nil {
		t.Fatalf("second Create = %+v, %v", step, err)
	}
	seen, err := p.Observe(ctx, []string{step.Handle, "other"})
	if err != nil || len(seen) != 2 || seen[0].State != sdk.Running || seen[0].Endpoints[0].URL != "unix:/run/x.sock" || seen[1].State != sdk.Stopped {
		t.Errorf("Observe = %+v, %v", seen, err)
	}
	if listed, err := p.List(ctx, "me"); err != nil || len(listed) != 0 {
		t.Errorf("List = %v, %v", listed, err)
	}
	if err := p.Terminate(ctx, step.Handle); err != nil {
		t.Errorf("Terminate: %v", err)
	}
	_, err = p.Create(ctx, sdk.MachineSpec{Key: "k2"}, nil)
	if !errors.Is(err, &sdk.Error{Code: sdk.NoCapacity}) || !strings.Contains(err.Error(), "nothing is running for k2") {
		t.Errorf("a plugin's own error arrived as %v", err)
	}
}

func TestUnknownModelSource(t *testing.T) {
	ctx := context.Background()
	h := open(t, host.Options{Dirs: []string{guests(t, "acme")}})
	f, err := h.Fetcher(ctx, "acme")
	if err != nil {
		t.Fatal(err)
	}
	m, err := f.Resolve(ctx, sdk.ModelRef{Source: "acme", Name: "127.0.0.1:1/tiny?a/b.bin=7:00"})
	if err != nil || m.Revision != "r1" || len(m.Files) != 1 || m.Files[0].Size != 7 {
		t.Fatalf("Resolve = %+v, %v", m, err)
	}
	at, err := f.Locate(ctx, sdk.FileRef{Name: m.Name, Path: "a/b.bin"})
	if err != nil || at.URL != "http://127.0.0.1:1/tiny/a/b.bin" {
		t.Errorf("Locate = %+v, %v", at, err)
	}
	if _, err := f.Resolve(ctx, sdk.ModelRef{Name: "127.0.0.1:1/tiny?../up=7:00"}); err == nil {
		t.Error("a path that leaves the model's folder was accepted")
	} else {
		wantFault(t, err, host.FaultOutput, "fetch-acme", "../up")
	}
}

// Misbehaviour.

func TestMisbehaviour(t *testing.T) {
	dir := guests(t, "rogue")
	with := func(callTime time.Duration) *host.Host {
		return open(t, host.Options{Dirs: []string{dir}, Limits: host.Limits{CallTime: callTime, OutputMB: 1},
			Scrub: func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") }})
	}
	h := with(0)
	for _, tc := range []struct {
		option string
		fault  host.Fault
		texts  []string
	}{
		{"panic", host.FaultCrash, []string{"panicked: boom, and a secret: ***"}},
		{"exit", host.FaultCrash, []string{"exit code 3"}},
		{"nothing", host.FaultOutput, []string{"answered nothing"}},
		{"no json", host.FaultOutput, []string{"no JSON object"}},
		{"both", host.FaultOutput, []string{"exactly one of"}},
		{"wrong type", host.FaultOutput, []string{"not what the contract says"}},
		{"huge", host.FaultOutput, []string{"the limit is 1 MiB"}},
		{"http", host.FaultCrash, []string{"not allowed"}},
		{"var", host.FaultCrash, []string{"disabled"}},
	} {
		t.Run(tc.option, func(t *testing.T) {
			_, err := expose(t, h, "rogue", fmt.Sprintf("%q", tc.option))
			wantFault(t, err, tc.fault, append(tc.texts, "plugin expose-rogue", filepath.Join(dir, "expose-rogue.wasm"))...)
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q", err)
			}
			wantWell(t, h)
		})
	}
	for _, option := range []string{"endless", "sleep"} {
		t.Run(option, func(t *testing.T) {
			t.Parallel() // each mostly waits
			for limit := 8 * time.Second; ; limit *= 4 {
				h := with(limit)
				_, err := expose(t, h, "rogue", fmt.Sprintf("%q", option))
				wantFault(t, err, host.FaultTime, fmt.Sprint("longer than ", limit), "plugin expose-rogue", filepath.Join(dir, "expose-rogue.wasm"))
				if err = well(t, h); late(err) && limit < time.Minute {
					continue
				} else if err != nil {
					t.Errorf("the next call: %v", err)
				}
				return
			}
		})
	}
	t.Run("exit quietly", func(t *testing.T) {
		if s, err := expose(t, h, "rogue", `"exit quietly"`); err != nil || s.Prompt != "bye" {
			t.Errorf("Expose = %+v, %v", s, err)
		}
		wantWell(t, h)
	})
	t.Run("odd code", func(t *testing.T) {
		_, err := expose(t, h, "rogue", `"odd code"`)
		if sdk.CodeOf(err) != sdk.Internal || err.Error() != "short and ***" {
			t.Errorf("error = %v", err)
		}
	})
}

func TestMemoryLimit(t *testing.T) {
	h := open(t, host.Options{Dirs: []string{guests(t, "rogue")}})
	_, err := expose(t, h, "rogue", `"memory"`)
	wantFault(t, err, host.FaultMemory, "more than 64 MiB")
	wantWell(t, h)
}

func TestInputLimit(t *testing.T) {
	h := open(t, host.Options{Dirs: []string{guests(t, "rogue")}})
	_, err := expose(t, h, "rogue", `"`+strings.Repeat("x", 17<<20)+`"`)
	if sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(err.Error(), "the limit is 16777216") {
		t.Errorf("error = %v", err)
	}
}

// wantWell checks that the next call works.
func wantWell(t *testing.T, h *host.Host) {
	t.Helper()
	if err := well(t, h); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

func well(t *testing.T, h *host.Host) error {
	t.Helper()
	s, err := expose(t, h, "rogue", `"well"`)
	if err == nil && s.Prompt != "well" {
		return fmt.Errorf("answered %+v", s)
	}
	return err
}

// late reports whether a call came to its time limit, as any may on a slow computer.
func late(err error) bool {
	var e *host.Error
	return errors.As(err, &e) && e.Fault == host.FaultTime
}

func TestWhatAGuestSees(t *testing.T) {
	t.Setenv("HUNTER", "2")
	h := open(t, host.Options{Dirs: []string{guests(t, "rogue")}})
	randoms := map[string]bool{}
	for range 2 {
		s, err := expose(t, h, "rogue", `"look around"`)
		if err != nil {
			t.Fatal(err)
		}
		var r struct {
			Env                          []string
			Root, Dial, TempFile, Random string
			Now                          time.Time
			Slept                        time.Duration
		}
		if err := json.Unmarshal([]byte(s.Prompt), &r); err != nil {
			t.Fatal(err)
		}
		if len(r.Env) != 0 || r.Root == "allowed" || r.Dial == "allowed" || r.TempFile == "allowed" {
			t.Errorf("the guest sees %+v", r)
		}
		if d := time.Since(r.Now); d < 0 || d > time.Minute || r.Slept < 5*time.Millisecond {
			t.Errorf("the guest's clock: %v ago, slept %v", d, r.Slept)
		}
		randoms[r.Random] = true
	}
	if len(randoms) != 2 {
		t.Errorf("randomness repeats: %v", randoms)
	}
}

func TestCancel(t *testing.T) {
	h := open(t, host.Options{Dirs: []string{guests(t, "rogue")}})
	e, err := h.Exposer(context.Background(), "rogue")
	if err != nil {
		t.Fatal(err)
	}
	wantWell(t, h) // compiled
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = e.Expose(ctx, sdk.ExposeRequest{Options: json.RawMessage(`"endless"`)})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v", err)
	}
	wantWell(t, h)
}

func TestClose(t *testing.T) {
	h, err := host.New(host.Options{Dirs: []string{guests(t, "rogue")}, CacheDir: cacheDir, Access: host.GrantAll})
	if err != nil {
		t.Fatal(err)
	}
	e, err := h.Exposer(context.Background(), "rogue")
	if err != nil {
		t.Fatal(err)
	}
	wantWell(t, h)
	failed := make(chan error, 1)
	go func() {
		_, err := e.Expose(context.Background(), sdk.ExposeRequest{Options: json.RawMessage(`"endless"`)})
		failed <- err
	}()
	if err := h.Close(context.Background()); err != nil {
		t.Errorf("Close: %v", err)
	}
	wantFault(t, <-failed, host.FaultClosed)
	_, err = e.Expose(context.Background(), sdk.ExposeRequest{})
	wantFault(t, err, host.FaultClosed)
}

func TestConcurrentCalls(t *testing.T) {
	h := open(t, host.Options{Dirs: []string{guests(t, "rogue", "shout")}})
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			want := fmt.Sprintf("call %d", i)
			if i%16 == 7 {
				if _, err := expose(t, h, "rogue", `"panic"`); err == nil {
					t.Error("no panic")
				}
				return
			}
			if s, err := expose(t, h, "rogue", fmt.Sprintf("%q", want)); err != nil || s.Prompt != want {
				t.Errorf("%s: %+v, %v", want, s, err)
			}
			if s, err := expose(t, h, "shout", ""); err != nil || s.Prompt != "EMBED!\nABLATE!" {
				t.Errorf("shout: %+v, %v", s, err)
			}
		}()
	}
	wg.Wait()
}

func TestLogs(t *testing.T) {
	var out strings.Builder
	log := hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Trace})
	h := open(t, host.Options{Dirs: []string{guests(t, "rogue")}, Logger: log, Limits: host.Limits{LogKB: 8},
		Scrub: func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") }})
	if s, err := expose(t, h, "rogue", `"chatter"`); err != nil || s.Prompt != "done" {
		t.Fatalf("Expose = %+v, %v", s, err)
	}
	text := out.String()
	for _, want := range []string{"line 1 ***", "expose-rogue", "warning 1", "logs too much"} {
		if !strings.Contains(text, want) {
			t.Errorf("the log does not contain %q", want)
		}
	}
	if strings.Contains(text, "hunter2") || len(text) > 64<<10 || strings.Count(text, "logs too much") != 1 {
		t.Errorf("the log of %d bytes is not scrubbed or bounded", len(text))
	}
}

// Folders.

func TestFolders(t *testing.T) {
	dir, granted, other := guests(t, "rogue"), t.TempDir(), t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(filepath.Join(granted, "a.txt"), []byte("mine"), 0o600))
	must(os.WriteFile(filepath.Join(granted, "big"), make([]byte, sdk.FolderReadLimit+1), 0o600))
	must(os.WriteFile(filepath.Join(other, "secret"), []byte("theirs"), 0o600))
	must(os.Symlink("a.txt", filepath.Join(granted, "inside")))
	must(os.Symlink(filepath.Join(other, "secret"), filepath.Join(granted, "outside")))
	h := open(t, host.Options{Dirs: []string{dir}})
	f, err := h.Fetcher(context.Background(), "rogue", granted)
	must(err)
	for _, tc := range []struct {
		name, want string
		code       sdk.Code
	}{
		{granted + ":a.txt", "mine", ""},
		{granted + ":inside", "mine", ""},
		{granted + ":outside", "", sdk.Invalid},
		{granted + ":none", "", sdk.NotFound},
		{granted + ":big", "", sdk.Invalid},
		{granted + ":.", "", sdk.Invalid},
		{other + ":secret", "", sdk.Unauthorized},
		{granted + "/..:" + filepath.Base(other) + "/secret", "", sdk.Unauthorized},
		{"/etc:passwd", "", sdk.Unauthorized},
	} {
		m, err := f.Resolve(context.Background(), sdk.ModelRef{Name: tc.name})
		if m.Name != tc.want || (err == nil) != (tc.code == "") || (err != nil && sdk.CodeOf(err) != tc.code) {
			t.Errorf("%s: %q, %v (%s), want %q, %s", tc.name, m.Name, err, sdk.CodeOf(err), tc.want, tc.code)
		}
	}
	// The grant is of the caller, not of the plugin.
	bare, err := h.Fetcher(context.Background(), "rogue")
	must(err)
	if _, err := bare.Resolve(context.Background(), sdk.ModelRef{Name: granted + ":a.txt"}); sdk.CodeOf(err) != sdk.Unauthorized {
		t.Errorf("without a grant: %v", err)
	}
}

func TestFetchFolder(t *testing.T) {
	ctx := context.Background()
	dir, model := builtIn(t, "fetch-folder"), t.TempDir()
	weights := make([]byte, 9<<20) // large enough for its digest to be kept
	testkit.WriteFiles(t, model, map[string][]byte{"config.json": []byte("{}"), "sub/model.bin": weights})
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(model, "sub", "model.bin"), old, old); err != nil {
		t.Fatal(err)
	}
	h := open(t, host.Options{Dirs: []string{dir}})
	f, err := h.Fetcher(ctx, "folder", model)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(weights)
	var revisions []string
	for range 2 {
		m, err := f.Resolve(ctx, sdk.ModelRef{Source: "folder", Name: model})
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Files) != 2 || m.Files[1].Path != "sub/model.bin" || m.Files[1].SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("files = %+v", m.Files)
		}
		revisions = append(revisions, m.Revision)
	}
	if revisions[0] != revisions[1] {
		t.Errorf("revisions differ: %v", revisions)
	}
	if kept, _ := os.ReadDir(filepath.Join(cacheDir, "digests")); len(kept) != 1 {
		t.Errorf("%d digests are kept, want 1", len(kept))
	}
	// Another content of the same size and time is another file: the change of its inode tells.
	weights[5<<20] = 1
	testkit.WriteFiles(t, model, map[string][]byte{"sub/model.bin": weights})
	if err := os.Chtimes(filepath.Join(model, "sub", "model.bin"), old, old); err != nil {
		t.Fatal(err)
	}
	sum = sha256.Sum256(weights)
	if m, err := f.Resolve(ctx, sdk.ModelRef{Source: "folder", Name: model}); err != nil || m.Files[1].SHA256 != hex.EncodeToString(sum[:]) || m.Revision == revisions[0] {
		t.Errorf("after a change: %+v, %v", m, err)
	}
	at, err := f.Locate(ctx, sdk.FileRef{Name: model, Path: "sub/model.bin"})
	if err != nil || at.URL != "file://"+model+"/sub/model.bin" {
		t.Errorf("Locate = %+v, %v", at, err)
	}
	if _, err := f.Resolve(ctx, sdk.ModelRef{Name: "/etc"}); sdk.CodeOf(err) != sdk.Unauthorized {
		t.Errorf("another folder: %v", err)
	}
}

// Many files are digested at once, each as it is now. One that cannot be read is an error, and
// an end of the call ends the work.
func TestFetchFolderOfManyFiles(t *testing.T) {
	dir, model := builtIn(t, "fetch-folder"), t.TempDir()
	all := map[string][]byte{}
	for i := range 300 {
		all[fmt.Sprintf("%03d/a b.bin", i)] = fmt.Append(nil, i)
	}
	testkit.WriteFiles(t, model, all)
	h := open(t, host.Options{Dirs: []string{dir}})
	f, err := h.Fetcher(t.Context(), "folder", model)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		m, err := f.Resolve(t.Context(), sdk.ModelRef{Source: "folder", Name: model})
		if err != nil || len(m.Files) != len(all) {
			t.Fatalf("%d files, %v", len(m.Files), err)
		}
		for _, file := range m.Files {
			if sum := sha256.Sum256(all[file.Path]); file.SHA256 != hex.EncodeToString(sum[:]) {
				t.Errorf("%+v", file)
			}
		}
		all["123/a b.bin"] = []byte("changed")
		testkit.WriteFiles(t, model, map[string][]byte{"123/a b.bin": all["123/a b.bin"]})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Resolve(ctx, sdk.ModelRef{Source: "folder", Name: model}); err == nil {
		t.Error("a cancelled call succeeds")
	}
	if os.Getuid() == 0 {
		return // who may read everything
	}
	if err := os.Chmod(filepath.Join(model, "200", "a b.bin"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Resolve(t.Context(), sdk.ModelRef{Source: "folder", Name: model}); sdk.CodeOf(err) != sdk.Unauthorized || !strings.Contains(err.Error(), "200") {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

// The built-in expose modes in the real host say what they say natively.
func TestBuiltInExposeModes(t *testing.T) {
	dir := builtIn(t, "expose-library", "expose-mcp", "expose-prompt")
	h := open(t, host.Options{Dirs: []string{dir}})
	for name, native := range map[string]sdk.Exposer{"library": library.Mode{}, "mcp": mcp.Mode{}, "prompt": prompt.Mode{}} {
		req := sdk.ExposeRequest{Name: "tools", Interface: sdk.Interface{Doc: "Töols", Functions: []sdk.Function{{Name: "embed", Doc: "x",
			InputSchema: json.RawMessage(`{}`),
			Params:      []sdk.Param{{Name: "text", Kind: sdk.PositionalOrKeyword, Annotation: "str", HasDefault: true, DefaultRepr: "(1,)"}}}}}}
		want, err := native.Expose(context.Background(), req)
		if err != nil {
			t.Fatal(err)
		}
		e, err := h.Exposer(context.Background(), name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Expose(context.Background(), req)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v\nwant %+v", name, got, err, want)
		}
		if _, err := e.Expose(context.Background(), sdk.ExposeRequest{}); sdk.CodeOf(err) != sdk.Invalid {
			t.Errorf("%s without a name: %v", name, err)
		}
	}
}
