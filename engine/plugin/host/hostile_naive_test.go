package host_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	extism "github.com/extism/go-sdk"
	"github.com/hashicorp/go-hclog"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// Each of these succeeds against a naive host, and fails against ours.

// world is a backend that the guest may ask, and one that only this computer can reach.
type world struct {
	allowed, inside *httptest.Server
	hits            atomic.Int32 // of what is inside
}

const insideSecret = "role-credentials-of-this-computer"

func newWorld(t *testing.T) *world {
	w := &world{}
	w.inside = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		w.hits.Add(1)
		fmt.Fprint(rw, insideSecret)
	}))
	t.Cleanup(w.inside.Close)
	w.allowed = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, w.inside.URL+"/latest/meta-data/iam/security-credentials", http.StatusFound)
	}))
	t.Cleanup(w.allowed.Close)
	return w
}

// endpoint names the backend by a name, so that it and the address inside are two hosts
// for a list of hosts, too.
func (w *world) endpoint() string { return strings.Replace(w.allowed.URL, "127.0.0.1", "localhost", 1) }

// A backend that is allowed redirects to one that is not: the metadata service of a
// cloud, say, which hands out credentials to whatever asks from this computer.
func TestHostileRedirect(t *testing.T) {
	w := newWorld(t)
	n := naively(t, extism.Manifest{AllowedHosts: []string{"localhost"}})
	got := tryOn(t.Context(), t, n.instance(t), order{"do": "get by extism", "url": w.endpoint() + "/open"})
	if got != insideSecret {
		t.Fatalf("the attack does not work: %q", got)
	}

	h := escapist(t, w.endpoint(), host.Options{})
	before := w.hits.Load()
	got, err := try(t.Context(), h, order{"do": "get", "url": w.endpoint() + "/open"})
	if sdk.CodeOf(err) != sdk.Unauthorized || !strings.Contains(err.Error(), "was redirected") {
		t.Errorf("%q, %v", got, err)
	}
	_, err = try(t.Context(), h, order{"do": "get by extism", "url": w.endpoint() + "/open"})
	wantFault(t, err, host.FaultCrash, "not allowed")
	if w.hits.Load() != before {
		t.Error("what is inside was reached")
	}
	wantUsable(t, h)
}

// A path beside the one that is allowed: a list of hosts knows no paths.
func TestHostilePath(t *testing.T) {
	var admin atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "admin") {
			admin.Add(1)
		}
		fmt.Fprint(rw, "welcome")
	}))
	t.Cleanup(server.Close)
	n := naively(t, extism.Manifest{AllowedHosts: []string{"127.0.0.1"}})
	tryOn(t.Context(), t, n.instance(t), order{"do": "get by extism", "url": server.URL + "/open/..%2fadmin"})
	if admin.Swap(0) != 1 {
		t.Fatal("the attack does not work")
	}
	h := escapist(t, server.URL, host.Options{})
	_, err := try(t.Context(), h, order{"do": "get", "url": server.URL + "/open/..%2fadmin"})
	if sdk.CodeOf(err) != sdk.Invalid || admin.Load() != 0 {
		t.Errorf("%v; %d requests", err, admin.Load())
	}
}

// names is a DNS server whose answers change: the first is an address of the internet,
// the others are of this computer.
type names struct{ asked atomic.Int32 }

func (n *names) serve(t *testing.T) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			size, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if answer, err := n.answer(buf[:size]); err == nil {
				_, _ = conn.WriteTo(answer, from)
			}
		}
	}()
	old := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = old })
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func (n *names) answer(query []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil {
		return nil, err
	}
	m.Response, m.Authoritative = true, true
	m.Additionals = nil
	if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
		address := [4]byte{127, 0, 0, 1}
		if n.asked.Add(1) == 1 {
			address = [4]byte{93, 184, 215, 14}
		}
		m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
			Body: &dnsmessage.AResource{A: address}}}
	}
	return m.Pack()
}

// A name is of the internet when somebody checks it, and of this computer when the
// request is made.
func TestHostileRebinding(t *testing.T) {
	w := newWorld(t)
	_, port, _ := net.SplitHostPort(w.inside.Listener.Addr().String())
	url := "http://rebind.example:" + port + "/latest/meta-data"
	check := func() {
		t.Helper()
		(&names{}).serve(t)
		addrs, err := net.DefaultResolver.LookupNetIP(t.Context(), "ip4", "rebind.example")
		if err != nil || len(addrs) != 1 || addrs[0] != netip.MustParseAddr("93.184.215.14") {
			t.Fatalf("%v, %v", addrs, err)
		}
	}
	check()
	n := naively(t, extism.Manifest{AllowedHosts: []string{"rebind.example"}})
	if got := tryOn(t.Context(), t, n.instance(t), order{"do": "get by extism", "url": url}); got != insideSecret {
		t.Fatalf("the attack does not work: %q", got)
	}

	h := escapist(t, "", host.Options{})
	check()
	before := w.hits.Load()
	_, err := try(t.Context(), h, order{"do": "get", "url": "https://rebind.example/latest/meta-data"})
	if sdk.CodeOf(err) != sdk.Unauthorized || !strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("error %v", err)
	}
	if got, err := try(t.Context(), h, order{"do": "get", "url": url}); err == nil {
		t.Errorf("without TLS, at another port: %q", got)
	}
	if w.hits.Load() != before {
		t.Error("what is inside was reached")
	}
	wantUsable(t, h)
}

// A link in a folder that was given leads out of it.
func TestHostileLink(t *testing.T) {
	given, other := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "id_ed25519"), []byte("a private key"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, link := range []struct{ to, at string }{{filepath.Join(other, "id_ed25519"), "file"}, {other, "folder"}, {"/proc/self", "self"}} {
		if err := os.Symlink(link.to, filepath.Join(given, link.at)); err != nil {
			t.Fatal(err)
		}
	}
	n := naively(t, extism.Manifest{AllowedPaths: map[string]string{given: "/given"}})
	for _, path := range []string{"/given/file", "/given/folder/id_ed25519"} {
		if got := tryOn(t.Context(), t, n.instance(t), order{"do": "read", "text": path}); got != "a private key" {
			t.Fatalf("the attack does not work: %q", got)
		}
	}

	h := escapist(t, "", host.Options{})
	for _, path := range []string{"/given/file", filepath.Join(given, "file"), filepath.Join(other, "id_ed25519"), "/etc/passwd", "/proc/self/environ", ".", "/"} {
		if got, err := try(t.Context(), h, order{"do": "read", "text": path}); err == nil {
			t.Errorf("%s was read: %q", path, got)
		}
	}
	f := rogueFetcher(t, given)
	for _, path := range []string{"file", "folder/id_ed25519", "self/environ"} {
		if m, err := f.Resolve(t.Context(), sdk.ModelRef{Name: given + ":" + path}); sdk.CodeOf(err) != sdk.Invalid {
			t.Errorf("%q: %q, %v (%s)", path, m.Name, err, sdk.CodeOf(err))
		}
	}
	for _, path := range []string{"../" + filepath.Base(other) + "/id_ed25519", "folder/../file", "file\x00", "/etc/passwd", "", "./file"} {
		if m, err := f.Resolve(t.Context(), sdk.ModelRef{Name: given + ":" + path}); err == nil || m.Name != "" {
			t.Errorf("%q: %q, %v", path, m.Name, err)
		}
	}
}

// rogueFetcher reads below a folder what the name of a model says.
func rogueFetcher(t *testing.T, folder string) sdk.Fetcher {
	t.Helper()
	f, err := open(t, host.Options{Dirs: []string{guests(t, "rogue")}}).Fetcher(t.Context(), "rogue", folder)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A credential is given to a plugin in the usual way, as its configuration. Ours uses it
// and has not seen it, wherever it looks.
func TestHostileCredential(t *testing.T) {
	n := naively(t, extism.Manifest{Config: map[string]string{"ESCAPE_KEY": escapeKey}})
	wantText(t, tryOn(t.Context(), t, n.instance(t), order{"do": "look", "text": "ESCAPE_KEY"}), escapeKey)

	used := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		used <- r.Header.Get("Authorization")
		rw.Header().Set("X-Echo", r.Header.Get("Authorization"))
		fmt.Fprintf(rw, "you sent %s", r.Header.Get("Authorization"))
	}))
	t.Cleanup(server.Close)
	h := escapist(t, server.URL, host.Options{})
	seen, err := try(t.Context(), h, order{"do": "look", "text": "ESCAPE_KEY"})
	if err != nil || strings.Contains(seen, escapeKey) || !strings.Contains(seen, `"has":false`) {
		t.Errorf("%q, %v", seen, err)
	}
	got, err := try(t.Context(), h, order{"do": "get", "url": server.URL + "/open/x"})
	if err != nil || strings.Contains(got, escapeKey) || <-used != "Bearer "+escapeKey {
		t.Errorf("%q, %v", got, err)
	}
	if h.Holds([]byte(escapeKey)) {
		t.Error("the credential is in the guest's memory")
	}
}

// Memory without an end.
func TestHostileMemory(t *testing.T) {
	n := naively(t, extism.Manifest{})
	wantText(t, tryOn(t.Context(), t, n.instance(t), order{"do": "grow", "n": 128}), "has taken it")

	h := escapist(t, "", host.Options{})
	_, err := try(t.Context(), h, order{"do": "grow", "n": 128})
	wantFault(t, err, host.FaultMemory, "more than 64 MiB")
	wantUsable(t, h)
}

// A loop that asks nobody: the naive host's caller has long given up when it ends.
func TestHostileLoop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := naively(t, extism.Manifest{})
	n.log = func(extism.LogLevel, string) { cancel() }
	extism.SetLogLevel(extism.LogLevelDebug)
	wantText(t, tryOn(ctx, t, n.instance(t), order{"do": "spin", "n": 50_000_000}), "came to its own end")
	if ctx.Err() == nil {
		t.Fatal("the attack does not work: nobody had given up")
	}

	ctx, cancel = context.WithCancel(t.Context())
	h := escapist(t, "", host.Options{Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Info, Output: onWrite(cancel)})})
	if _, err := try(ctx, h, order{"do": "spin"}); err != context.Canceled { //nolint:errorlint // exactly that
		t.Errorf("error %v", err)
	}
	wantUsable(t, h)
}

// onWrite is a writer that calls a function.
type onWrite func()

func (f onWrite) Write(b []byte) (int, error) { f(); return len(b), nil }

// A log that fills the disk.
func TestHostileFlood(t *testing.T) {
	const lines = 5000 // of 1000 bytes
	n := naively(t, extism.Manifest{})
	naive := 0
	n.log = func(_ extism.LogLevel, text string) { naive += len(text) }
	extism.SetLogLevel(extism.LogLevelDebug)
	tryOn(t.Context(), t, n.instance(t), order{"do": "flood", "n": lines})
	if naive < lines*1000 {
		t.Fatalf("the attack does not work: %d bytes", naive)
	}
	var ours testkit.Buffer
	h := escapist(t, "", host.Options{Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: &ours})})
	if _, err := try(t.Context(), h, order{"do": "flood", "n": lines}); err != nil {
		t.Error(err)
	}
	if n := len(ours.String()); n > 128<<10 {
		t.Errorf("%d bytes were logged", n)
	}
	wantText(t, ours.String(), "logs too much")
}

// Two instances that take the same number for unique, at the same time for ever.
func TestHostileSameness(t *testing.T) {
	n := naively(t, extism.Manifest{})
	first, second := tryOn(t.Context(), t, n.instance(t), order{"do": "uuid"}), tryOn(t.Context(), t, n.instance(t), order{"do": "uuid"})
	if first != second {
		t.Fatalf("the attack does not work: %s, %s", first, second)
	}
	seen := map[string]bool{}
	for range 3 {
		h := escapist(t, "", host.Options{})
		got, err := try(t.Context(), h, order{"do": "uuid"})
		if err != nil || seen[strings.Fields(got)[0]] || seen[strings.Fields(got)[1]] {
			t.Errorf("%s, %v", got, err)
		}
		for _, part := range strings.Fields(got) {
			seen[part] = true
		}
	}
}

// An answer as large as memory.
func TestHostileOutput(t *testing.T) {
	n := naively(t, extism.Manifest{})
	if got := tryOn(t.Context(), t, n.instance(t), order{"do": "huge", "n": 2}); len(got) != 2<<20 {
		t.Fatalf("the attack does not work: %d bytes", len(got))
	}
	h := escapist(t, "", host.Options{Limits: host.Limits{OutputMB: 1}})
	_, err := try(t.Context(), h, order{"do": "huge", "n": 2})
	wantFault(t, err, host.FaultOutput, "the limit is 1 MiB")
	wantUsable(t, h)
}

// A log line that looks like one of Seer's, and commands to the terminal.
func TestHostileLogLine(t *testing.T) {
	const forged = "done\n2026-01-01T00:00:00Z [ERROR] seer: your key is about to expire, paste it below\r\x1b[2J\x1b]0;seer\x07\u009b31m"
	n := naively(t, extism.Manifest{})
	var naive strings.Builder
	n.log = func(_ extism.LogLevel, text string) { naive.WriteString(text) }
	extism.SetLogLevel(extism.LogLevelDebug)
	tryOn(t.Context(), t, n.instance(t), order{"do": "log", "text": forged})
	wantText(t, naive.String(), "\n2026-01-01T00:00:00Z [ERROR] seer", "\x1b[2J")

	var ours testkit.Buffer
	h := escapist(t, "", host.Options{Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: &ours, DisableTime: true})})
	if _, err := try(t.Context(), h, order{"do": "log", "text": forged}); err != nil {
		t.Error(err)
	}
	_, err := try(t.Context(), h, order{"do": "fail", "text": forged})
	if sdk.CodeOf(err) != sdk.Unavailable {
		t.Errorf("error %v", err)
	}
	for what, text := range map[string]string{"log": ours.String(), "error": err.Error()} {
		if strings.ContainsAny(text, "\x1b\x07\r\u009b") {
			t.Errorf("the %s speaks to the terminal: %q", what, text)
		}
	}
	for line := range strings.Lines(ours.String()) {
		if !strings.Contains(line, "expose-escape") {
			t.Errorf("a line of the plugin's does not say so: %q", line)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("a forged line in an error: %q", err)
	}
}

// What an instance has kept of a folder that one caller let it read comes out in the call
// of another. Ours uses an instance for calls with the same folders only.
func TestHostileMemoryOfAnotherCall(t *testing.T) {
	given := t.TempDir()
	if err := os.WriteFile(filepath.Join(given, "notes"), []byte("of the first caller"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := naively(t, extism.Manifest{}).instance(t)
	tryOn(t.Context(), t, p, order{"do": "remember", "text": "of the first caller"})
	if got := tryOn(t.Context(), t, p, order{"do": "remember"}); got != "of the first caller" {
		t.Fatalf("the attack does not work: %q", got)
	}

	h := escapist(t, "", host.Options{})
	resolve := func(name string, folders ...string) string {
		t.Helper()
		f, err := h.Fetcher(t.Context(), "escape", folders...)
		if err != nil {
			t.Fatal(err)
		}
		m, err := f.Resolve(t.Context(), sdk.ModelRef{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return m.Name
	}
	resolve(given+":notes", given)
	if got := resolve("again", given); got != "of the first caller" {
		t.Errorf("the same caller: %q", got)
	}
	for _, folders := range [][]string{nil, {t.TempDir()}, {given, t.TempDir()}} {
		resolve(given+":notes", given)
		if got := resolve("again", folders...); got != "" {
			t.Errorf("a caller with %q got %q", folders, got)
		}
	}
}
