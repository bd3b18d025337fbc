package client

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/protocol"
)

func TestSessionFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.json")
	want := Session{Version: 1, Kind: protocol.SessionShell, Endpoint: "unix:/run/s", Token: "t", Sandbox: "sb-1"}
	for range 2 {
		if err := want.Write(path); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadSession(path)
	if err != nil || got != want {
		t.Errorf("%+v %v", got, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
	if err := (Session{Kind: protocol.SessionShell, Endpoint: "unix:/s"}).Write(path); err == nil {
		t.Error("a session without a token was written")
	}
	c, err := got.Client()
	if err != nil || c.Endpoint() != want.Endpoint {
		t.Errorf("%v", err)
	}
}

func TestSessionFileErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadSession(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	for name, text := range map[string]string{
		"not JSON":      "{",
		"other version": `{"version":2,"kind":"shell","token":"t","endpoint":"unix:/s"}`,
		"other kind":    `{"version":1,"kind":"root","token":"t","endpoint":"unix:/s"}`,
		"a connection":  `{"version":1,"service":"tools","token":"t","endpoint":"unix:/s"}`,
		"no token":      `{"version":1,"kind":"shell","endpoint":"unix:/s"}`,
		"endpoint":      `{"version":1,"kind":"shell","token":"t","endpoint":"ftp://x"}`,
	} {
		path := filepath.Join(dir, "s")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSession(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
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
