package runtime_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// origin serves one content under every path that is open, and counts what it sends.
type origin struct {
	*httptest.Server
	content []byte
	open    atomic.Value // the path that is answered
	sent    atomic.Int64

	limit int64 // of bytes that are sent, after which reached is called once; 0 = none
	reach func()
	once  sync.Once
}

// after has f called once so many bytes have been sent.
func (o *origin) after(bytes int64, f func()) { o.limit, o.reach = bytes, f }

// onDisk fails the test unless the content is in a file.
func (o *origin) onDisk(t *testing.T, path string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, o.content) {
		t.Errorf("%s: %d bytes, %v", path, len(got), err)
	}
}

func newOrigin(t *testing.T, size int) *origin {
	o := &origin{content: bytes.Repeat([]byte("0123456789abcdef"), size/16)}
	o.open.Store("/1")
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != o.open.Load() {
			http.Error(w, "expired", http.StatusForbidden)
			return
		}
		http.ServeContent(&sentCounter{w, o, r.URL.Path}, r, "", time.Time{}, bytes.NewReader(o.content))
	}))
	t.Cleanup(o.Close)
	return o
}

type sentCounter struct {
	http.ResponseWriter
	of   *origin
	path string
}

func (c *sentCounter) Write(b []byte) (int, error) {
	if c.of.open.Load() != c.path { // it has expired meanwhile
		panic(http.ErrAbortHandler)
	}
	n, err := c.ResponseWriter.Write(b)
	if sent := c.of.sent.Add(int64(n)); c.of.limit > 0 && sent >= c.of.limit {
		c.of.once.Do(c.of.reach)
	}
	return n, err
}

func (o *origin) file(path string) protocol.DownloadFile {
	sum := sha256.Sum256(o.content)
	return protocol.DownloadFile{Path: path, Size: int64(len(o.content)), SHA256: hex.EncodeToString(sum[:])}
}

// attend answers what a download wants until it has ended.
func (m *machine) attend(ctx context.Context, id string, locate func(path string) sdk.Location) protocol.Download {
	m.t.Helper()
	for {
		d, err := m.client.Downloads().Wait(ctx, id, time.Minute)
		if err != nil {
			m.t.Fatal(err)
		}
		if d.State != protocol.DownloadRunning {
			return d
		}
		for _, path := range d.Wanted {
			if err := m.client.Downloads().Locate(ctx, id, protocol.DownloadLocation{Path: path, Location: locate(path)}); err != nil {
				m.t.Fatal(err)
			}
		}
	}
}

// A machine downloads what it is told where to find, changes the beginning of what it has
// verified, and keeps what it finds to be right.
func TestDownloads(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	o := newOrigin(t, 3<<20)
	dir := filepath.Join(t.TempDir(), "mödels", "a b")
	changed := o.file("sub/weights")
	changed.Prefix, changed.MtimeUnix = []byte("HEADER"), 946728000
	spec := protocol.DownloadSpec{Dir: dir, Files: []protocol.DownloadFile{o.file("plain"), changed, {Path: "small", Size: 2}, {Path: "empty"}}}
	locate := func(path string) sdk.Location {
		switch path {
		case "small":
			return sdk.Location{Content: []byte("ok")}
		case "empty":
			return sdk.Location{}
		}
		return sdk.Location{URL: o.URL + "/1"}
	}
	for range 2 {
		if err := m.client.Downloads().Put(ctx, "model-0", spec); err != nil {
			t.Fatal(err)
		}
		if d := m.attend(ctx, "model-0", locate); d.State != protocol.DownloadDone || d.Done != d.Total || d.Total != 6<<20+2 {
			t.Fatalf("%+v", d)
		}
	}
	// A file whose beginning was changed cannot be verified, and comes again.
	if want := int64(3 * len(o.content)); o.sent.Load() != want {
		t.Errorf("%d bytes were sent, not %d", o.sent.Load(), want)
	}
	for name, want := range map[string][]byte{
		"plain": o.content, "small": []byte("ok"), "empty": {}, "sub/weights": append([]byte("HEADER"), o.content[6:]...),
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		got, err := os.ReadFile(path)
		info, serr := os.Stat(path)
		if err != nil || serr != nil || !bytes.Equal(got, want) || info.Mode().Perm() != 0o644 {
			t.Errorf("%s: %d bytes, %v, %v", name, len(got), err, serr)
		}
		if name == "sub/weights" && info.ModTime().Unix() != changed.MtimeUnix {
			t.Errorf("its time is %v", info.ModTime())
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o755 {
		t.Error(info, err)
	}
	if names, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(names) != 4 {
		t.Errorf("in the folder: %q", names)
	}
}

// An address that expires in the middle is asked for again. What has arrived is kept.
func TestDownloadsGoOn(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	o := newOrigin(t, 32<<20)
	o.after(16<<20, func() { o.open.Store("/2") })
	spec := protocol.DownloadSpec{Dir: t.TempDir(), Files: []protocol.DownloadFile{o.file("weights")}}
	for range 2 { // the second time as if the answer had been lost
		if err := m.client.Downloads().Put(ctx, "m", spec); err != nil {
			t.Fatal(err)
		}
	}
	asked := 0
	d := m.attend(ctx, "m", func(string) sdk.Location {
		asked++
		return sdk.Location{URL: o.URL + o.open.Load().(string)}
	})
	if d.State != protocol.DownloadDone || asked != 2 {
		t.Fatalf("%+v, asked %d times", d, asked)
	}
	o.onDisk(t, filepath.Join(spec.Dir, "weights"))

	spec.Dir = t.TempDir()
	if err := m.client.Downloads().Put(ctx, "m", spec); err != nil {
		t.Fatal(err)
	}
	if d, err := m.client.Downloads().Wait(ctx, "m", time.Minute); err != nil || strings.Join(d.Wanted, " ") != "weights" {
		t.Fatalf("%+v %v", d, err)
	}
	if err := m.client.Downloads().Delete(ctx, "m"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.client.Downloads().Wait(ctx, "m", 0); protocol.CodeOf(err) != protocol.NotFound {
		t.Error(err)
	}
}

// A download goes on after the runtime was killed, from what is on the disk.
func TestDownloadAfterTheRuntimeWasKilled(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	o := newOrigin(t, 64<<20)
	half, released := make(chan struct{}), make(chan struct{})
	o.after(32<<20, func() {
		close(half)
		<-released
	})
	spec := protocol.DownloadSpec{Dir: t.TempDir(), Files: []protocol.DownloadFile{o.file("weights")}}
	locate := func(string) sdk.Location { return sdk.Location{URL: o.URL + "/1"} }
	if err := m.client.Downloads().Put(ctx, "m", spec); err != nil {
		t.Fatal(err)
	}
	if d, err := m.client.Downloads().Wait(ctx, "m", time.Minute); err != nil || len(d.Wanted) != 1 {
		t.Fatal(d, err)
	}
	if err := m.client.Downloads().Locate(ctx, "m", protocol.DownloadLocation{Path: "weights", Location: locate("")}); err != nil {
		t.Fatal(err)
	}
	<-half
	if err := syscall.Kill(m.runtimePid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	close(released)
	testkit.EventuallyNil(t, "the next runtime", func() error { return m.client.Downloads().Put(ctx, "m", spec) })
	if d := m.attend(ctx, "m", locate); d.State != protocol.DownloadDone {
		t.Fatalf("%+v", d)
	}
	o.onDisk(t, filepath.Join(spec.Dir, "weights"))
	if sent := o.sent.Load(); sent > 64<<20*7/4 {
		t.Errorf("%d bytes were sent, of a file with %d", sent, 64<<20)
	}
}

// What cannot be downloaded is one clear error, and no file.
func TestDownloadErrors(t *testing.T) {
	t.Parallel()
	m := up(t, nil)
	ctx := testContext(t)
	o := newOrigin(t, 1<<20)
	for name, tc := range map[string]struct {
		change func(*protocol.DownloadFile)
		at     sdk.Location
		code   protocol.Code
		text   string
	}{
		"other content": {func(f *protocol.DownloadFile) { f.SHA256 = strings.Repeat("0", 64) }, sdk.Location{URL: o.URL + "/1"}, protocol.Failed, "downloaded twice"},
		"address":       {nil, sdk.Location{URL: "ftp://host/file"}, protocol.Invalid, "neither http nor https"},
		"path":          {func(f *protocol.DownloadFile) { f.Path = "../file" }, sdk.Location{}, protocol.Invalid, "plain relative path"},
		"disk":          {func(f *protocol.DownloadFile) { f.Size = 1 << 60 }, sdk.Location{}, protocol.NoSpace, "MB more"},
	} {
		f := o.file("weights")
		if tc.change != nil {
			tc.change(&f)
		}
		dir := t.TempDir()
		if err := m.client.Downloads().Put(ctx, "m", protocol.DownloadSpec{Dir: dir, Files: []protocol.DownloadFile{f}}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		d := m.attend(ctx, "m", func(string) sdk.Location { return tc.at })
		if d.State != protocol.DownloadFailed || d.Error == nil || d.Error.Code != tc.code || !strings.Contains(d.Error.Message, tc.text) {
			t.Errorf("%s: %+v %+v", name, d, d.Error)
		}
		if _, err := os.Stat(filepath.Join(dir, "weights")); err == nil {
			t.Errorf("%s: there is a file", name)
		}
	}
	for id, spec := range map[string]protocol.DownloadSpec{
		"a/b": {Dir: "/tmp", Files: []protocol.DownloadFile{o.file("f")}},
		"dir": {Dir: "tmp", Files: []protocol.DownloadFile{o.file("f")}},
		"no":  {Dir: "/tmp"},
		"big": {Dir: "/tmp", Files: []protocol.DownloadFile{{Path: "f", Prefix: []byte("x")}}},
	} {
		if err := m.client.Downloads().Put(ctx, id, spec); protocol.CodeOf(err) != protocol.Invalid {
			t.Errorf("%s: %v", id, err)
		}
	}
}
