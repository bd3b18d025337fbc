package files_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/enginetest/container"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/event/eventtext"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/loader"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/engine/snapshot/files"
	"github.com/seer-engine/seer/internal/testbuild"
	"github.com/seer-engine/seer/internal/testkit"
)

// machine is the real runtime in a container, behind a proxy that can answer in its place.
type machine struct {
	*client.Client
	dir   string                       // the container's / on this computer
	fault atomic.Pointer[http.Handler] // of trees; nil = the runtime answers
}

func newMachine(t *testing.T, artifacts testbuild.Artifacts) *machine {
	t.Helper()
	token := protocol.NewToken()
	env, err := loader.BootEnv(loader.Boot{Listen: "tcp:0.0.0.0:8717", AdminSHA256: protocol.HashToken(token), Machine: "files-" + token[:12]})
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{dir: t.TempDir()}
	c, err := container.Start(m.dir, container.Spec{Argv: loader.Command("python3"), Env: env, Output: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Stop(5 * time.Second) })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	direct, err := client.New("http://"+c.Address(8717), token)
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close()
	if _, err := direct.Boot(ctx, client.BootOptions{Binary: func(goos, goarch string) (string, error) {
		return filepath.Join(artifacts.Runtime, "seer-runtime-"+goos+"-"+goarch), nil
	}}); err != nil {
		t.Fatal(err)
	}
	m.Client = m.behindProxy(t, c.Address(8717), token)
	return m
}

// behindProxy is a client whose requests pass a proxy one by one: one of an http:// endpoint
// would send all of them through a tunnel.
func (m *machine) behindProxy(t *testing.T, address, token string) *client.Client {
	t.Helper()
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	proxy.FlushInterval = -1
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	listener := testkit.UnixSocket(t)
	testkit.ServeHTTP(t, listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fault := m.fault.Load(); fault != nil && r.URL.Path == "/v1/tree" {
			(*fault).ServeHTTP(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	behind, err := client.New("unix:"+listener.Addr().String(), token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(behind.Close)
	return behind
}

// faulty has a handler answer all requests for trees until the test ends.
func (m *machine) faulty(t *testing.T, f http.HandlerFunc) {
	if f == nil {
		return
	}
	var h http.Handler = f
	m.fault.Store(&h)
	t.Cleanup(func() { m.fault.Store(nil) })
}

// write makes a file of the machine from outside.
func (m *machine) write(t *testing.T, name, data string) {
	t.Helper()
	path := filepath.Join(m.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(data), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// read is what a file of the machine has; empty where there is none.
func (m *machine) read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(m.dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	return string(data)
}

func quiet() event.Reporter { return event.Reporter{} }

func TestSaveAndRestore(t *testing.T) {
	artifacts, err := testbuild.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := newMachine(t, artifacts)
	t.Run("there and back", func(t *testing.T) { thereAndBack(t, m) })
	t.Run("a volume in the folder", func(t *testing.T) { keepsVolumes(t, m) })
	t.Run("a snapshot without a home", func(t *testing.T) { oneTree(t, m) })
	t.Run("restoring fails", func(t *testing.T) { restoreFails(t, m) })
	t.Run("saving fails", func(t *testing.T) { saveFails(t, m) })
}

// thereAndBack restores what was saved, and neither what came later nor keys.
func thereAndBack(t *testing.T, m *machine) {
	store := &snapshot.Store{Dir: t.TempDir()}
	m.write(t, "workspace/é/a.txt", "saved")
	m.write(t, "root/notes", "saved")
	m.write(t, "root/.seer/notebook/config.json", "a key of the original")
	if err := os.Symlink("é/a.txt", filepath.Join(m.dir, "workspace", "link")); err != nil {
		t.Fatal(err)
	}
	for _, live := range []bool{true, false} {
		if _, err := files.Save(t.Context(), store, m.Client, snapshot.Meta{Name: map[bool]string{true: "live", false: "still"}[live], Kind: snapshot.FileSystem}, live, quiet()); err != nil {
			t.Fatal(err)
		}
	}
	m.write(t, "workspace/é/a.txt", "changed")
	m.write(t, "workspace/later/b", "later")
	m.write(t, "root/notes", "changed")
	m.write(t, "root/.seer/notebook/config.json", "a key of its own")
	for _, ref := range []string{"live", "still"} {
		var warned []string
		report := event.NewReporter("", event.SourceEngine, time.Now, func(ev event.Event) {
			if ev.Kind() == event.KindWarning {
				warned = append(warned, eventtext.Sentence(ev))
			}
		})
		if err := (files.Target{Sandbox: m.Client, Clear: true, Report: report}).Restore(t.Context(), store, ref); err != nil || len(warned) > 0 {
			t.Fatalf("%s: %v, %q", ref, err, warned)
		}
		if got := m.read(t, "workspace/é/a.txt") + m.read(t, "workspace/link") + m.read(t, "root/notes"); got != "savedsavedsaved" {
			t.Errorf("%s: %q", ref, got)
		}
		if got := m.read(t, "workspace/later/b"); got != "" {
			t.Errorf("%s: the working folder still has %q", ref, got)
		}
		if got := m.read(t, "root/.seer/notebook/config.json"); got != "" { // the sandbox makes its own afterwards
			t.Errorf("%s: %q came along", ref, got)
		}
	}
}

// keepsVolumes does not empty the working folder where a volume is in it.
func keepsVolumes(t *testing.T, m *machine) {
	store := stored(t, "workspace", "home")
	m.write(t, "workspace/data/kept", "of the volume")
	clears := files.Clears([]experiment.Volume{{Path: "/data"}, {Path: "/workspace/data/"}})
	if err := (files.Target{Sandbox: m.Client, Clear: clears, Report: quiet()}).Restore(t.Context(), store, "s"); err != nil {
		t.Fatal(err)
	}
	if got := m.read(t, "workspace/data/kept") + m.read(t, "workspace/in workspace"); got != "of the volumesaved" {
		t.Errorf("%q", got)
	}
	if !files.Clears([]experiment.Volume{{Path: "/workspaces"}}) || files.Clears([]experiment.Volume{{Path: "/workspace/../workspace"}}) {
		t.Error("the place of a volume is mistaken")
	}
}

// oneTree restores what is there of a snapshot that has no home.
func oneTree(t *testing.T, m *machine) {
	store := stored(t, "workspace")
	m.write(t, "root/own", "its own")
	if err := (files.Target{Sandbox: m.Client, Clear: true, Report: quiet()}).Restore(t.Context(), store, "s"); err != nil {
		t.Fatal(err)
	}
	if got := m.read(t, "workspace/in workspace") + m.read(t, "root/own"); got != "savedits own" {
		t.Errorf("%q", got)
	}
}

// stored is a store with one snapshot, s, of these trees.
func stored(t *testing.T, names ...string) *snapshot.Store {
	t.Helper()
	store := &snapshot.Store{Dir: t.TempDir()}
	var sources []snapshot.Source
	for _, name := range names {
		data := archive(t, tar.Header{Name: "in " + name, Typeflag: tar.TypeReg}, "saved")
		sources = append(sources, snapshot.Source{Name: name, Open: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(data)), nil
		}})
	}
	if _, err := store.Save(t.Context(), snapshot.Meta{Name: "s", Kind: snapshot.FileSystem}, sources); err != nil {
		t.Fatal(err)
	}
	return store
}

func archive(t *testing.T, h tar.Header, body string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	h.Size, h.Mode = int64(len(body)), cmp.Or(h.Mode, 0o644)
	err := w.WriteHeader(&h)
	_, wrote := io.WriteString(w, body)
	if err := errors.Join(err, wrote, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// eachPart changes all that a store has of contents.
func eachPart(t *testing.T, store *snapshot.Store, change func(path string) error) {
	t.Helper()
	parts, err := filepath.Glob(filepath.Join(store.Dir, "blobs", "*"))
	if err != nil || len(parts) == 0 {
		t.Fatalf("%q: %v", parts, err)
	}
	for _, path := range parts {
		if err := change(path); err != nil {
			t.Fatal(err)
		}
	}
}

// flip changes a byte in the middle of a file.
func flip(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	data[len(data)/2] ^= 0x55
	return os.WriteFile(path, data, 0o600)
}

func cutFile(path string) error { return os.Truncate(path, 10) }

// parts leaves out the document of a snapshot, which is JSON.
func parts(change func(string) error) func(string) error {
	return func(path string) error {
		data, err := os.ReadFile(path)
		if err != nil || bytes.HasPrefix(data, []byte("{")) {
			return err
		}
		return change(path)
	}
}

// restoreFails says each time what failed, and ends by itself.
func restoreFails(t *testing.T, m *machine) {
	full := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.CopyN(io.Discard, r.Body, 512)
		w.WriteHeader(protocol.NoSpace.Status())
		_, _ = io.WriteString(w, `{"error":{"code":"no_space","message":"the machine's disk is full"}}`)
	}
	cut := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for _, c := range []struct {
		name   string
		ref    string
		damage func(string) error
		fault  http.HandlerFunc
		kind   errdefs.Kind
		want   string
	}{
		{"no such snapshot", "other", nil, nil, errdefs.KindNotFound, "other"},
		{"parts are missing", "s", os.Remove, nil, errdefs.KindConfig, "the snapshot s cannot be used: its document"},
		{"parts are damaged", "s", parts(flip), nil, errdefs.KindConfig, "restore the workspace of s: the snapshot s is damaged"},
		{"parts are cut", "s", parts(cutFile), nil, errdefs.KindConfig, "the snapshot s cannot be used: its part"},
		{"the machine's disk is full", "s", nil, full, errdefs.KindNoSpace, "restore the workspace of s: "},
		{"the connection is lost", "s", nil, cut, errdefs.KindProvider, "restore the workspace of s: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := stored(t, "workspace", "home")
			if c.damage != nil {
				eachPart(t, store, c.damage)
			}
			m.faulty(t, c.fault)
			err := files.Target{Sandbox: m.Client, Clear: true, Report: quiet()}.Restore(t.Context(), store, c.ref)
			if err == nil || !strings.Contains(err.Error(), c.want) || errdefs.KindOf(errdefs.Wrap(errdefs.KindProvider, err)) != c.kind {
				t.Errorf("%s: %v", errdefs.KindOf(errdefs.Wrap(errdefs.KindProvider, err)), err)
			}
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m.faulty(t, func(_ http.ResponseWriter, r *http.Request) {
			cancel()
			_, _ = io.Copy(io.Discard, r.Body) // a server sees that a client has gone when the body has been read
			<-r.Context().Done()
		})
		err := files.Target{Sandbox: m.Client, Clear: true, Report: quiet()}.Restore(ctx, stored(t, "workspace", "home"), "s")
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// saveFails leaves nothing in the store when a sandbox's tree is hostile or breaks off.
func saveFails(t *testing.T, m *machine) {
	whole := archive(t, tar.Header{Name: "a", Typeflag: tar.TypeReg}, strings.Repeat("x", 4096))
	for _, c := range []struct {
		name string
		tree []byte
		want string
	}{
		{"a path that leaves the folder", archive(t, tar.Header{Name: "../out", Typeflag: tar.TypeReg}, "x"), "leads out of the tree"},
		{"a tree that breaks off", whole[:2048], "save workspace as new: "},
		{"no tree", nil, "save workspace as new: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := &snapshot.Store{Dir: t.TempDir()}
			m.faulty(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(c.tree) })
			_, err := files.Save(t.Context(), store, m.Client, snapshot.Meta{Name: "new", Kind: snapshot.FileSystem}, false, quiet())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			if all, err := store.List(t.Context()); err != nil || len(all) > 0 {
				t.Errorf("the store has %v, %v", all, err)
			}
			if _, err := m.Processes().Run(t.Context(), protocol.ProcessSpec{Argv: []string{"true"}}, nil, nil, nil); err != nil {
				t.Errorf("the sandbox does not go on: %v", err)
			}
		})
	}
}
