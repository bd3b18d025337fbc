package store

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine/host"
	"github.com/seer-engine/seer/engine/host/access"
	"github.com/seer-engine/seer/engine/plugin/bundle"
)

// build puts a plugin's files into a folder, as a build does.
func build(t testing.TB, dir string, b bundle.Bundle) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, b.ID+".wasm")
	for path, data := range map[string][]byte{file: b.Wasm, filepath.Join(dir, b.ID+".yaml"): b.Manifest} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

func inspect(t testing.TB, file string) host.Plugin {
	t.Helper()
	p, err := host.Inspect(file)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const getM, getN = "http GET https://api.tiny.example /m", "http GET https://api.tiny.example /n"

func (w *world) folder(dir string, lines ...string) {
	w.t.Helper()
	set := access.Make(lines...)
	if err := w.GrantFolder(context.Background(), FolderGrant{Dir: dir, ID: "provider-tiny", Asked: set, Lines: set, By: "you"}); err != nil {
		w.t.Fatal(err)
	}
}

func TestFolderGrantOutlivesARebuild(t *testing.T) {
	ctx, w, dir := context.Background(), newWorld(t), filepath.Join(t.TempDir(), "my plugin")
	build(t, dir, tiny(t, "1.0.0", "/m"))
	w.folder(dir, getM)
	h := w.host(dir)
	if _, err := h.Provider(ctx, "tiny"); err != nil {
		t.Fatal(err)
	}
	build(t, dir, tiny(t, "1.0.1", "/m"))
	if _, err := h.Provider(ctx, "tiny"); err != nil {
		t.Errorf("a rebuild: %v", err)
	}
	build(t, dir, tiny(t, "1.0.2", "/m", "/n"))
	_, err := h.Provider(ctx, "tiny")
	wantError(t, err, "asks for more", getN, "seer plugin grant --folder "+dir)
	if strings.Contains(err.Error(), getM) {
		t.Errorf("it tells of what is granted: %v", err)
	}
	w.folder(dir, getM, getN)
	if _, err := h.Provider(ctx, "tiny"); err != nil {
		t.Errorf("after another yes: %v", err)
	}
	if n, err := w.Revoke(ctx, "provider-tiny"); n != 1 || err != nil {
		t.Error(n, err)
	}
	if _, err := h.Provider(ctx, "tiny"); err == nil {
		t.Error("after it was taken back")
	}
}

func TestFolderGrantHoldsOnlyInside(t *testing.T) {
	ctx, w, top := context.Background(), newWorld(t), t.TempDir()
	dir, elsewhere := filepath.Join(top, "mine"), filepath.Join(top, "mine-too")
	build(t, dir, tiny(t, "1.0.0", "/m"))
	foreign := build(t, elsewhere, tiny(t, "6.6.6", "/m"))
	w.folder(dir, getM)
	for name, link := range map[string]string{
		"a link to the file": func() string {
			d := filepath.Join(dir, "a")
			os.Mkdir(d, 0o700)
			os.Symlink(foreign, filepath.Join(d, "provider-tiny.wasm"))
			return filepath.Join(d, "provider-tiny.wasm")
		}(),
		"a link to the folder": func() string {
			os.Symlink(elsewhere, filepath.Join(dir, "b"))
			return filepath.Join(dir, "b", "provider-tiny.wasm")
		}(),
		"a path that goes up":  dir + "/../mine-too/provider-tiny.wasm",
		"the same beginning":   foreign,
		"the name of the file": filepath.Join(elsewhere, ".", "provider-tiny.wasm"),
	} {
		if _, err := w.Decide(ctx, inspect(t, link)); err == nil {
			t.Errorf("%s: granted", name)
		}
	}
	// A link that leads into the folder is the folder.
	os.Symlink(dir, filepath.Join(top, "link"))
	if _, err := w.Decide(ctx, inspect(t, filepath.Join(top, "link", "provider-tiny.wasm"))); err != nil {
		t.Errorf("by a link into it: %v", err)
	}
	// The grant is for one plugin.
	if _, err := w.Decide(ctx, host.Plugin{File: filepath.Join(dir, "provider-tiny.wasm"), Access: access.Make(getM)}); err == nil {
		t.Error("another plugin in the folder is granted")
	}
}

func TestFolderOthersMayWriteToIsRefused(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	dir := filepath.Join(t.TempDir(), "shared")
	file := build(t, dir, tiny(t, "1.0.0", "/m"))
	set := access.Make(getM)
	yes := FolderGrant{Dir: dir, ID: "provider-tiny", Asked: set, Lines: set}
	for _, mode := range []os.FileMode{0o770, 0o707, 0o777 | os.ModeSticky} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		wantError(t, w.GrantFolder(ctx, yes), "others could put any plugin there", "chmod go-w")
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := w.GrantFolder(ctx, yes); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Dir(dir), file, strings.TrimSuffix(file, ".wasm") + ".yaml"} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		os.Chmod(path, info.Mode().Perm()|0o020)
		_, err = w.Decide(ctx, inspect(t, file))
		wantError(t, err, path, "does not hold")
		os.Chmod(path, info.Mode().Perm())
	}
	if _, err := w.Decide(ctx, inspect(t, file)); err != nil {
		t.Error(err)
	}
	if os.Geteuid() == 0 { // somebody else's
		for _, path := range []string{dir, file} {
			os.Chown(path, 12345, -1)
			_, err := w.Decide(ctx, inspect(t, file))
			wantError(t, err, path, "somebody else")
			os.Chown(path, 0, -1)
		}
	}
	for _, bad := range []string{filepath.Join(dir, "none"), file} {
		if err := w.GrantFolder(ctx, FolderGrant{Dir: bad, ID: "provider-tiny"}); err == nil {
			t.Errorf("%s is granted", bad)
		}
	}
}

func TestAPartIsGranted(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	in := w.put(tiny(t, "1.0.0", "/m", "/n"))
	if err := w.Grant(ctx, Grant{ID: in.ID, Digest: in.Wasm, Asked: in.Access, Lines: access.Make(getN)}); err != nil {
		t.Fatal(err)
	}
	g, err := w.Decide(ctx, inspect(t, in.File()))
	if err != nil || len(g.Lines) != 1 || g.Lines[0] != getN {
		t.Errorf("%v, %v", g, err)
	}
	// An empty grant is a yes to nothing.
	if err := w.Grant(ctx, Grant{ID: in.ID, Digest: in.Wasm, Asked: in.Access}); err != nil {
		t.Fatal(err)
	}
	if g, err := w.Decide(ctx, inspect(t, in.File())); err != nil || len(g.Lines) != 0 {
		t.Errorf("%v, %v", g, err)
	}
	wantError(t, w.Grant(ctx, Grant{ID: in.ID, Digest: in.Wasm, Lines: access.Make(getM)}), "not asked for")
}

// A file that cannot be understood grants nothing, and nothing in it is lost.
func TestBrokenGrants(t *testing.T) {
	good := `{"version":1,"grants":[{"id":"provider-tiny","digest":"sha256:` + strings.Repeat("a", 64) + `","asked":["x"],"lines":["x"],"by":"","time":"2026-01-01T00:00:00Z"}]}`
	if _, err := parseLedger([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ text, want string }{
		"empty":         {"", "EOF"},
		"half":          {good[:len(good)/2], "unexpected EOF"},
		"no JSON":       {"{\n\n x", ":3: "},
		"unknown key":   {strings.Replace(good, "grants", "grant", 1), "grant"},
		"more":          {good + "\n{}", "more after the end"},
		"version":       {strings.Replace(good, `"version":1`, `"version":2`, 1), "version 2"},
		"type":          {strings.Replace(good, `["x"]`, `"x"`, 1), "asked"},
		"digest":        {strings.Replace(good, "sha256:a", "sha256:A", 1), "grants.0"},
		"too much":      {strings.Replace(good, `"lines":["x"]`, `"lines":["y"]`, 1), "not asked for"},
		"order":         {strings.Replace(good, `"asked":["x"]`, `"asked":["x","a"]`, 1), "sorted"},
		"folder":        {`{"version":1,"folders":[{"dir":"../x","id":"a"}]}`, "folders.0"},
		"signer":        {`{"version":1,"signers":{"a":{"fingerprint":"x"}}}`, "signers"},
		"active":        {`{"version":1,"active":{"a":"../../x"}}`, "active"},
		"list":          {`[]`, ":1: "},
		"ten megabytes": {strings.Repeat("[", 10<<20), "depth"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, w := context.Background(), newWorld(t)
			in := w.put(tiny(t, "1.0.0", "/m"))
			w.grant(in)
			p := inspect(t, in.File())
			w.write(w.GrantsFile(), tc.text, 0o600)
			_, err := w.Decide(ctx, p)
			wantError(t, err, w.GrantsFile(), tc.want, "grant again")
			_, err = w.Revoke(ctx, in.ID)
			wantError(t, err, w.GrantsFile())
			if err := w.Pin(ctx, in.ID, fingerprintA); err == nil {
				t.Error("it was written over")
			}
			if text, _ := os.ReadFile(w.GrantsFile()); string(text) != tc.text {
				t.Error("it was changed")
			}
		})
	}
}

func TestGrantsThatOthersMayHaveWritten(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	in := w.put(tiny(t, "1.0.0", "/m"))
	w.grant(in)
	p := inspect(t, in.File())
	if info, err := os.Stat(w.GrantsFile()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	os.Chmod(w.GrantsFile(), 0o660)
	_, err := w.Decide(ctx, p)
	wantError(t, err, "chmod 600 "+w.GrantsFile())
	os.Chmod(w.GrantsFile(), 0o600)
	if os.Geteuid() == 0 {
		os.Chown(w.GrantsFile(), 12345, -1)
		_, err := w.Decide(ctx, p)
		wantError(t, err, "somebody else")
		os.Chown(w.GrantsFile(), 0, -1)
	}
	os.Rename(w.GrantsFile(), w.GrantsFile()+".real")
	os.Symlink(w.GrantsFile()+".real", w.GrantsFile())
	if _, err := w.Decide(ctx, p); err == nil {
		t.Error("by a link")
	}
	os.Remove(w.GrantsFile())
	if err := syscall.Mkfifo(w.GrantsFile(), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = w.Decide(ctx, p) // and does not wait for a writer
	wantError(t, err, "not a plain file")
}

func TestSigners(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	in := w.put(tiny(t, "1.0.0"))
	adopt := func(signer string) error {
		return w.Adopt(ctx, Adoption{ID: in.ID, Digest: in.Digest, Signer: signer})
	}
	for _, step := range []struct {
		signer string
		bad    bool
	}{{"", false}, {fingerprintA, false}, {fingerprintA, false}, {fingerprintB, true}, {"", true}} {
		if err := adopt(step.signer); (err != nil) != step.bad {
			t.Errorf("%q: %v", step.signer, err)
		}
	}
	wantError(t, adopt(fingerprintB), fingerprintA, fingerprintB, "seer plugin repin provider-tiny")
	wantError(t, adopt(""), "not signed")
	if err := w.Adopt(ctx, Adoption{ID: in.ID, Digest: in.Digest, Unlooked: true}); err != nil {
		t.Error(err)
	}
	wantError(t, w.Pin(ctx, in.ID, fingerprintB), fingerprintA)
	if err := w.Repin(ctx, in.ID, ""); err != nil {
		t.Fatal(err)
	}
	if err := adopt(fingerprintB); err != nil {
		t.Error(err)
	}
	if got, err := w.Signer(in.ID); got != fingerprintB || err != nil {
		t.Error(got, err)
	}
	wantError(t, w.Pin(ctx, "other", "x"), "fingerprint")
}

func FuzzLedger(f *testing.F) {
	f.Add([]byte(`{"version":1,"active":{"a":"sha256:00"},"signers":{"a":null}}`))
	f.Add([]byte(`{"version":1,"grants":[{"id":"a","lines":null}],"folders":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := parseLedger(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		same, err := parseLedger(again)
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v\n%s", err, again)
		}
		for _, g := range same.Grants {
			if more := g.Lines.Without(g.Asked); len(more) > 0 {
				t.Fatalf("%q is granted and not asked for", more)
			}
		}
	})
}
