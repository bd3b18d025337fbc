package host_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk"
)

// waiting calls the guest that waits for streams, and waits until it does, or has
// already ended.
func waiting(t *testing.T, h *host.Host, ctx context.Context, option string) (done chan error, waits bool) {
	t.Helper()
	e, err := h.Exposer(context.Background(), "rogue")
	if err != nil {
		t.Fatal(err)
	}
	name := rand.Text()
	done = make(chan error, 1)
	go func() {
		s, err := e.Expose(ctx, sdk.ExposeRequest{Name: name, Options: json.RawMessage(`"` + option + `"`)})
		if err == nil && s.Prompt != "rented before the end" {
			err = errors.New("answered " + s.Prompt)
		}
		done <- err
	}()
	for end := time.Now().Add(2 * time.Minute); len(done) == 0; time.Sleep(5 * time.Millisecond) {
		if h.Holds([]byte(name)) {
			return done, true
		}
		if time.Now().After(end) {
			t.Fatal("the guest never waited")
		}
	}
	return done, false
}

// What a guest has done when its caller gives up is not lost.
func TestGuestIsAskedToEnd(t *testing.T) {
	h := open(t, host.Options{Dirs: []string{guests(t, "rogue")}})
	wantWell(t, h) // compiled
	for option, want := range map[string]error{"wait for the end": nil, "wait and fail": context.Canceled, "wait and ignore": context.Canceled} {
		for tries := 1; ; tries++ {
			ctx, cancel := context.WithCancel(context.Background())
			done, _ := waiting(t, h, ctx, option)
			cancel()
			err := <-done
			wantWell(t, h)
			if errors.Is(err, want) {
				break
			}
			if tries == 3 || !errors.Is(err, context.Canceled) { // a slow computer may need more than the guest's grace
				t.Fatalf("%s: %v, want %v", option, err, want)
			}
		}
	}
}

func TestGuestIsAskedToEndAtItsTimeLimit(t *testing.T) {
	dir := guests(t, "rogue")
	for option, limited := range map[string]bool{"wait for the end": false, "wait and fail": true, "wait and ignore": true} {
		t.Run(option, func(t *testing.T) {
			t.Parallel() // each mostly waits
			for limit := 5 * time.Second; ; limit *= 4 {
				h := open(t, host.Options{Dirs: []string{dir}, Limits: host.Limits{CallTime: limit}})
				before := well(t, h) // compiled
				done, waits := waiting(t, h, context.Background(), option)
				err := <-done
				after := well(t, h)
				if limit < time.Minute && (!waits || late(before) || late(after) || late(err) && !limited) { // a slow computer
					continue
				}
				if limited {
					wantFault(t, err, host.FaultTime, fmt.Sprint("longer than ", limit))
				} else if err != nil {
					t.Errorf("error = %v", err)
				}
				if err := errors.Join(before, after); err != nil {
					t.Errorf("the calls around it: %v", err)
				}
				return
			}
		})
	}
}

func TestCloseWhileAGuestWaits(t *testing.T) {
	h, err := host.New(host.Options{Dirs: []string{guests(t, "rogue")}, CacheDir: cacheDir, Access: host.GrantAll,
		Limits: host.Limits{CallTime: 5 * time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	wantWell(t, h) // compiled
	done, _ := waiting(t, h, context.Background(), "wait for the end")
	if err := h.Close(context.Background()); err != nil {
		t.Errorf("Close: %v", err)
	}
	wantFault(t, <-done, host.FaultClosed)
}

// The functions are there for every guest, and do nothing for one that may not.
func TestSendingWithoutPermission(t *testing.T) {
	h := open(t, host.Options{Dirs: []string{guests(t, "rogue")}})
	s, err := expose(t, h, "rogue", `"send"`)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"code":"unauthorized"`, "its manifest does not name it", "}}-1 0"} {
		if !strings.Contains(s.Prompt, want) {
			t.Errorf("%q does not contain %q", s.Prompt, want)
		}
	}
}

func TestHolds(t *testing.T) {
	h := open(t, host.Options{Dirs: []string{guests(t, "rogue")}})
	if h.Holds([]byte("needle in a haystack")) {
		t.Error("nothing is loaded yet")
	}
	if _, err := expose(t, h, "rogue", `"needle in a haystack"`); err != nil {
		t.Fatal(err)
	}
	if !h.Holds([]byte("needle in a haystack")) || h.Holds([]byte("another needle")) {
		t.Error("the memory of an idle instance was not searched")
	}
}

// Only a plugin that exports the function is a Snapshotter; nothing of it is run to
// find out.
func TestSnapshotter(t *testing.T) {
	const manifest = "id: provider-empty\nversion: 0.1.0\nimplements: [provider/1]\nprovides: [empty]\n"
	for _, snapshots := range []bool{true, false} {
		exports := sdk.KindProvider.Exports()
		if snapshots {
			exports = append(exports, sdk.ExportProviderSnapshot)
		}
		body := []byte{byte(len(exports))}
		for _, name := range exports {
			body = append(append(append(body, byte(len(name))), name...), 0, 0)
		}
		size := []byte{byte(len(body))&0x7f | 0x80, byte(len(body) >> 7)}
		sections := append([]byte{1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 7}, append(size, body...)...)
		dir := t.TempDir()
		write(t, dir, "provider-empty.wasm", module(manifest, append(sections, 10, 4, 1, 2, 0, 0x0b)...))
		for range 2 { // the second one from the notes of the first
			h := open(t, host.Options{Dirs: []string{dir}})
			p, err := h.Provider(context.Background(), "empty")
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := p.(sdk.Snapshotter); ok != snapshots {
				t.Errorf("Snapshotter: %v, want %v", ok, snapshots)
			}
		}
	}
}

// What the façade shows of a plugin's settings and secrets.
func TestSettingsAndSecrets(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "expose-shout.wasm", module(shoutManifest+`permissions:
  http: [{destination: "{endpoint}", methods: [GET], paths: [/**], reason: to look}]
settings: [{name: endpoint, doc: where, env: [SHOUT_URL], default: "https://example.com"}]
secrets: [{name: token, doc: make one, env: [SHOUT_TOKEN], bind: [{destination: "{endpoint}", header: X-Token}]}]
`, exportsExpose...))
	env := map[string]string{"SHOUT_TOKEN": "hunter22"}
	h := open(t, host.Options{Dirs: []string{dir}, Env: func(name string) (string, string, bool) { v, ok := env[name]; return v, "/x/.env", ok }})
	plugins, errs := h.Plugins(context.Background())
	if len(plugins) != 1 {
		t.Fatal(errs)
	}
	if s, err := h.Settings(context.Background(), plugins[0]); err != nil || s["endpoint"] != "https://example.com" {
		t.Errorf("settings %v, %v", s, err)
	}
	got := h.Secrets(context.Background(), plugins[0])
	if len(got) != 1 || !got[0].Found || got[0].Where != "SHOUT_TOKEN of /x/.env" || got[0].Doc != "make one" {
		t.Errorf("secrets %+v", got)
	}
}
