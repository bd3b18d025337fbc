package files_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/engine/snapshot/files"
	"github.com/seer-engine/seer/internal/testkit"
)

// TestSaveAsksWhetherItStoodStill: files of a sandbox that went on meanwhile, or that does not
// say that it stood still, are not kept, not even when the user interrupts just then.
func TestSaveAsksWhetherItStoodStill(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		status    int
		interrupt bool
		want      string
	}{
		{"it stood still", http.StatusOK, false, ""},
		{"it went on", http.StatusConflict, false, "longer than the 1m0s"},
		{"it went on, and the user interrupts", http.StatusConflict, true, "longer than the 1m0s"},
		{"it cannot say", http.StatusInternalServerError, false, "does not say whether it stood still"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			store, seen := &snapshot.Store{Dir: t.TempDir()}, -1
			sandbox := fakeRuntime(t, func(w http.ResponseWriter, r *http.Request) {
				if id := r.URL.Query().Get("id"); id != "f1" {
					t.Errorf("thawed the freeze %q", id)
				}
				all, err := store.List(t.Context())
				if seen = len(all); err != nil {
					t.Error(err)
				}
				if c.interrupt {
					cancel()
				}
				w.WriteHeader(c.status)
				fmt.Fprint(w, `{}`)
			})
			_, err := files.Save(ctx, store, sandbox, snapshot.Meta{Name: "s", Kind: snapshot.FileSystem}, false, event.Reporter{})
			if failed := err != nil; failed != (c.want != "") || failed && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			all, err := store.List(t.Context())
			if err != nil || (len(all) == 1) != (c.want == "") || seen != 0 {
				t.Errorf("the store has %v, %v; %d before the thaw", all, err, seen)
			}
		})
	}
}

// fakeRuntime is a sandbox with empty trees that can be frozen.
func fakeRuntime(t *testing.T, thaw http.HandlerFunc) *client.Client {
	t.Helper()
	at := filepath.Join(testkit.ShortDir(t), "s")
	listener, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/freeze", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, `{"id":"f1","frozen":1,"not_frozen":[]}`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("GET /v1/tree", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1024)) })
	mux.HandleFunc("POST /v1/thaw", thaw)
	server := httptest.NewUnstartedServer(mux)
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	c, err := client.New("unix:"+at, "token")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
