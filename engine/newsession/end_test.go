package newsession_test

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/newsession"
	"github.com/seer-engine/seer/engine/session"
	"github.com/seer-engine/seer/engine/workspace"
	"github.com/seer-engine/seer/sdk"
)

// oneRecord is the ledger of one sandbox.
type oneRecord struct{ machine.Record }

func (l *oneRecord) Get(string) (machine.Record, error) { return l.Record, nil }

func (l *oneRecord) Update(_ context.Context, _ string, change func(*machine.Record) error) (machine.Record, error) {
	err := change(&l.Record)
	return l.Record, err
}

// A key that could not be revoked is revoked by the next End.
func TestEndRevokesTheKeyFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var asked int
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked == 1 {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"error":{"code":"forbidden","message":"not now"}}`))
		} else {
			w.WriteHeader(http.StatusNotFound) // the answer of before was lost
			_, _ = w.Write([]byte(`{"error":{"code":"not_found","message":"no such session"}}`))
		}
	})}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	runtime, err := client.New("unix:"+path, "token")
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close()
	ledger := &oneRecord{machine.Record{ID: "sb", State: sdk.Running}}
	err = session.SetState(&ledger.Record, func(s *session.State) {
		s.Sessions = append(s.Sessions, session.Opened{Name: "a", Kind: workspace.CLI})
	})
	if err != nil {
		t.Fatal(err)
	}
	host := newsession.Host{Session: session.Session{ID: "sb", Ledger: ledger, Client: runtime}}
	if err := host.End(t.Context(), "a"); err == nil || len(session.StateOf(ledger.Record).Sessions) != 1 {
		t.Errorf("the key could not be revoked: %v, %+v", err, session.StateOf(ledger.Record).Sessions)
	}
	for range 2 {
		if err := host.End(t.Context(), "a"); err != nil || asked != 2 || len(session.StateOf(ledger.Record).Sessions) != 0 {
			t.Errorf("%v after %d requests", err, asked)
		}
	}
}
