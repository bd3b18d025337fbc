package client

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seer-engine/seer/engine/protocol"
)

func TestSessionFile(t *testing.T) {
	want := Session{Version: 1, Kind: protocol.SessionShell, Endpoint: "unix:/run/s", Token: "t", Sandbox: "sb-1"}
	checkTokenFile(t, want, ReadSession)
	if err := (Session{Kind: protocol.SessionShell, Endpoint: "unix:/s"}).Write(filepath.Join(t.TempDir(), "s")); err == nil {
		t.Error("a session without a token was written")
	}
	c, err := want.Client()
	if err != nil || c.Endpoint() != want.Endpoint {
		t.Errorf("%v", err)
	}
}

func TestSessionFileErrors(t *testing.T) {
	checkTokenFileErrors(t, ReadSession, map[string]string{
		"not JSON":      "{",
		"other version": `{"version":2,"kind":"shell","token":"t","endpoint":"unix:/s"}`,
		"other kind":    `{"version":1,"kind":"root","token":"t","endpoint":"unix:/s"}`,
		"a connection":  `{"version":1,"service":"tools","token":"t","endpoint":"unix:/s"}`,
		"no token":      `{"version":1,"kind":"shell","endpoint":"unix:/s"}`,
		"endpoint":      `{"version":1,"kind":"shell","token":"t","endpoint":"ftp://x"}`,
	})
}

func FuzzSession(f *testing.F) {
	f.Add([]byte(`{"version":1,"kind":"shell","token":"t","endpoint":"https://x/y","sandbox":"sb-1"}`))
	f.Add([]byte(`{"version":1,"kind":"shell","token":"t","endpoint":"unix:/s"}`))
	path := filepath.Join(f.TempDir(), "s")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := ReadSession(path)
		if err != nil {
			return
		}
		if _, err := s.Client(); err != nil || s.Token == "" {
			t.Errorf("%s became %+v, %v", data, s, err)
		}
	})
}
