package store

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/engine/plugin/host/egress"
	"github.com/seer-engine/seer/internal/testplugin"
	"github.com/seer-engine/seer/sdk"
)

type answer func(*http.Request) (*http.Response, error)

func (f answer) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The audit is of what the gateway of plugins really lets through and refuses.
func TestAuditOfRealRequests(t *testing.T) {
	w := newWorld(t)
	in := w.put(testplugin.Tiny(t, "1.0.0", "/m", "/n"))
	r := w.NewRecorder()
	seen := make(chan struct{}, 10)
	g := egress.New(egress.Options{
		Manifest: access.Limit(in.Manifest, access.Make(getM)), Asked: in.Manifest,
		Audit: func(a egress.Audit) { r.Record(a); seen <- struct{}{} },
		Transport: answer(func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: req}, nil
		}),
	})
	defer g.Close()
	s := g.Session(context.Background())
	defer s.Close()
	for _, path := range []string{"/m?key=hunter2", "/n?key=hunter2", "/elsewhere"} {
		opened, err := s.OpenHTTP(sdk.HTTPOpen{Method: "GET", URL: "https://api.tiny.example" + path})
		if err == nil {
			s.Credit(opened.Stream, 1<<20)
		}
		select {
		case <-seen:
		case <-time.After(time.Minute):
			t.Fatalf("%s is not in the audit", path)
		}
	}
	r.Close()
	got, err := w.Report(context.Background(), in.ID, in.Access)
	if err != nil || len(got.Used) != 1 || got.Used[0].Permission != getM || len(got.Never) != 1 || got.Never[0] != getN {
		t.Errorf("%+v, %v", got, err)
	}
	if len(got.Refused) != 2 || !strings.Contains(got.Refused[1].Why, "grant it to the plugin") || got.Refused[1].Request != "GET https://api.tiny.example/n" {
		t.Errorf("refused: %+v", got.Refused)
	}
	text, err := os.ReadFile(filepath.Join(w.auditOf(in.ID), "000001.jsonl"))
	if err != nil || strings.Contains(string(text), "hunter2") || strings.Count(string(text), "\n") != 3 {
		t.Errorf("%s, %v", text, err)
	}
}
