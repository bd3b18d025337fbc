package provision

import (
	"archive/tar"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/event/eventtext"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/internal/testkit"
)

// A file that vanishes from a folder while that is uploaded does not cost the sandbox.
func TestAStartOutlivesAVanishedFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, size := range map[string]int{"a": 16 << 20, "z": 1} { // a is more than waits on the way
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	listener := testkit.UnixSocket(t)
	testkit.ServeHTTP(t, listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := tar.NewReader(r.Body).Next(); err != nil {
			t.Error(err)
		}
		if err := os.Remove(filepath.Join(dir, "z")); err != nil {
			t.Error(err)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "{}")
	}))
	client, err := client.New("unix:"+listener.Addr().String(), "token")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var warned []string
	var moved []event.Copied
	s := &start{Request: Request{Experiment: &experiment.Experiment{}, Plan: plan.Plan{Uploads: []plan.Upload{{Local: dir, Remote: "/workspace/d", Folder: true}}},
		Report: event.NewReporter("", event.SourceEngine, time.Now, func(ev event.Event) {
			if ev.Kind() == event.KindWarning {
				warned = append(warned, eventtext.Sentence(ev))
			}
			if d, ok := ev.Data.(event.Copied); ok {
				moved = append(moved, d)
			}
		})}, machine: Machine{Client: client}}
	if err := s.upload(t.Context()); err != nil {
		t.Error(err)
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "vanished while the folder was read: z; the rest was copied") {
		t.Errorf("warnings: %q", warned)
	}
	if len(moved) == 0 || moved[0].Bytes == 0 || moved[0].Total != 16<<20+1 || moved[0].Stage != event.StageUpload {
		t.Errorf("how far it was: %+v", moved)
	}
}
