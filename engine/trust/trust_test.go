package trust_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/trust"
	"github.com/seer-engine/seer/internal/testkit"
)

func TestEffects(t *testing.T) {
	f := trust.Facts{
		Subject: "/home/me/exp/seer.yaml", Folder: "/home/me/exp", Home: "/home/me",
		Confined: []trust.Program{{Name: "the agent", Command: "python3 agent.py"}},
		Read:     []string{"/home/me/exp/model", "/home/me/exp"}, Written: []string{"/home/me/exp/outputs"}, Ports: []int{80},
		Secrets: []trust.Secret{{Name: "A", From: ".env", To: "the sandbox"}},
	}
	if e := trust.Of(f); len(e.Outside) != 0 || e.Hash != "" || len(e.Inside) != 6 || !slices.IsSorted(e.Inside) {
		t.Errorf("what stays inside: %+v", e)
	}
	f.Read = append(f.Read, "/home/me/exp2/x", "/home/me/exp\n2", "/home/me/exp2/x")
	e := trust.Of(f)
	if len(e.Outside) != 2 || e.Outside[0] != `"read /home/me/exp\n2"` || e.Outside[1] != "read /home/me/exp2/x" {
		t.Errorf("lines: %q", e.Outside)
	}
	hashes := []string{e.Hash}
	other := func(what string, change func(f *trust.Facts)) {
		t.Helper()
		changed := f
		change(&changed)
		got := trust.Of(changed)
		if len(got.Hash) != 64 || slices.Contains(hashes, got.Hash) {
			t.Errorf("%s: the hash is that of others", what)
		}
		hashes = append(hashes, got.Hash)
	}
	other("another file", func(f *trust.Facts) { f.Subject += "2" })
	other("unconfined", func(f *trust.Facts) { f.Unconfined = []trust.Program{{Name: "a", Command: "c", Digest: "1"}} })
	other("another digest", func(f *trust.Facts) { f.Unconfined = []trust.Program{{Name: "a", Command: "c", Digest: "2"}} })
	other("an account", func(f *trust.Facts) { f.Accounts = []trust.Account{{Provider: "p"}} })
	other("of another key", func(f *trust.Facts) { f.Accounts = []trust.Account{{Provider: "p", Digest: "k"}} })
	other("a port of this computer", func(f *trust.Facts) { f.HostPorts = []int{5432} })
	other("a model with a credential", func(f *trust.Facts) {
		f.Models = []trust.Model{{Kind: "model", Name: "org/private", Credential: "HF_TOKEN of environment"}}
	})
	other("a dataset with a credential", func(f *trust.Facts) {
		f.Models = []trust.Model{{Kind: "dataset", Name: "org/private", Credential: "HF_TOKEN of environment"}}
	})
	other("a volume", func(f *trust.Facts) { f.Volumes = []string{"weights"} })
	other("an image by path", func(f *trust.Facts) { f.Systems = []trust.System{{Path: "/images/a.sif", Provider: "p"}} })
	other("sandboxes inside", func(f *trust.Facts) { f.Nested = []string{"the agent"} })
	other("in the home", func(f *trust.Facts) { f.Folder = "/home" })
	again := f
	again.Ports = []int{81} // inside
	if trust.Of(again).Hash != e.Hash {
		t.Error("what is inside counts")
	}
}

func TestReal(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, target := range map[string]string{"out": "/etc", "dangling": "nowhere/below", "loop": "loop", "twice": "dangling"} {
		if err := os.Symlink(target, at(name)); err != nil {
			t.Fatal(err)
		}
	}
	testkit.WantEach(t, trust.Real, map[string]string{
		at("out/passwd"): "/etc/passwd", at("out/new/file"): "/etc/new/file", at("a/../b"): at("b"), at("dangling"): at("nowhere/below"),
		at("dangling/x"): at("nowhere/below/x"), at("twice"): at("nowhere/below"), at("loop"): at("loop"), "/": "/",
	})
}

func TestDigest(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.py")
	digest := func() string {
		t.Helper()
		d, err := trust.Digest(t.Context(), nil, []string{dir, file, filepath.Join(dir, "missing")})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	seen := []string{}
	for name, change := range map[string]func() error{
		"content":  func() error { return os.WriteFile(file, []byte("x"), 0o600) },
		"mode":     func() error { return os.Chmod(file, 0o700) },
		"new file": func() error { return os.WriteFile(filepath.Join(dir, "b"), nil, 0o600) },
		"link":     func() error { return os.Symlink("/etc", filepath.Join(dir, "l")) },
		"large":    func() error { return os.Truncate(filepath.Join(dir, "b"), 17<<20) },
	} {
		if err := change(); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if d := digest(); slices.Contains(seen, d) && name != "mode" && name != "large" {
			t.Errorf("%s: the digest is the same", name)
		} else {
			seen = append(seen, d)
		}
	}
	if first, second := digest(), digest(); first != second {
		t.Error("the digest of the same files is another one")
	}
}

func TestStore(t *testing.T) {
	s := trust.Store{Dir: filepath.Join(t.TempDir(), "trust")}
	e := trust.Of(trust.Facts{Subject: "/x/seer.yaml", Folder: "/x", Read: []string{"/y"}})
	if known, err := s.Confirmed(e); known || err != nil {
		t.Errorf("before: %v, %v", known, err)
	}
	if err := s.Run(e); err != nil {
		t.Fatal(err)
	}
	if known, _ := s.Confirmed(e); known {
		t.Error("what has run counts as confirmed")
	}
	if err := s.Confirm(e); err != nil {
		t.Fatal(err)
	}
	if known, err := s.Confirmed(e); !known || err != nil {
		t.Errorf("after: %v, %v", known, err)
	}
	if known, _ := s.OwnRecord("../confirmed/" + e.Hash); known {
		t.Error("a path is not a digest")
	}
	info, err := os.Stat(filepath.Join(s.Dir, "confirmed", e.Hash+".json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestSigners(t *testing.T) {
	s := trust.Store{Dir: t.TempDir()}
	armored, err := s.Sign(t.Context(), []byte("a statement"))
	if err != nil {
		t.Fatal(err)
	}
	if who, err := s.SignedBy(t.Context(), []byte("a statement"), armored); who != trust.OwnKey || err != nil {
		t.Errorf("%s, %v", who, err)
	}
	if _, err := s.SignedBy(t.Context(), []byte("another"), armored); err == nil {
		t.Error("another statement")
	}
	if err := s.TrustSigner(t.Context(), "SHA256:short", true); err == nil || !strings.Contains(err.Error(), "not the fingerprint") {
		t.Errorf("%v", err)
	}
	if info, err := os.Stat(filepath.Join(s.Dir, "id_ed25519")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info, err)
	}
}
