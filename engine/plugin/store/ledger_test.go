package store

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/internal/testplugin"
)

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
			in := w.put(testplugin.Tiny(t, "1.0.0", "/m"))
			w.grant(in)
			p := inspect(t, in.File())
			w.write(w.GrantsFile(), tc.text, 0o600)
			_, err := w.Decide(ctx, p)
			testkit.WantError(t, err, w.GrantsFile(), tc.want, "grant again")
			_, err = w.Revoke(ctx, in.ID)
			testkit.WantError(t, err, w.GrantsFile())
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
	in := w.put(testplugin.Tiny(t, "1.0.0", "/m"))
	w.grant(in)
	p := inspect(t, in.File())
	if info, err := os.Stat(w.GrantsFile()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	os.Chmod(w.GrantsFile(), 0o660)
	_, err := w.Decide(ctx, p)
	testkit.WantError(t, err, "chmod 600 "+w.GrantsFile())
	os.Chmod(w.GrantsFile(), 0o600)
	if os.Geteuid() == 0 {
		os.Chown(w.GrantsFile(), 12345, -1)
		_, err := w.Decide(ctx, p)
		testkit.WantError(t, err, "somebody else")
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
	testkit.WantError(t, err, "not a plain file")
}

func TestSigners(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	in := w.put(testplugin.Tiny(t, "1.0.0"))
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
	testkit.WantError(t, adopt(fingerprintB), fingerprintA, fingerprintB, "accept the change")
	testkit.WantError(t, adopt(""), "not signed")
	if err := w.Adopt(ctx, Adoption{ID: in.ID, Digest: in.Digest, Unlooked: true}); err != nil {
		t.Error(err)
	}
	testkit.WantError(t, w.Pin(ctx, in.ID, fingerprintB), fingerprintA)
	if err := w.Repin(ctx, in.ID, ""); err != nil {
		t.Fatal(err)
	}
	if err := adopt(fingerprintB); err != nil {
		t.Error(err)
	}
	if got, err := w.Signer(in.ID); got != fingerprintB || err != nil {
		t.Error(got, err)
	}
	testkit.WantError(t, w.Pin(ctx, "other", "x"), "fingerprint")
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
