package image_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/image"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/ordinaryuser"
	"github.com/seer-engine/seer/sdk"
)

// TestHostileLayers tries to get out of the root. Nothing beside it may change.
func TestHostileLayers(t *testing.T) {
	s := newServer(t)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Mkdir(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, "f"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	good := layer(t, "gzip", file("f", strings.Repeat("x", 1000)))
	for name, tc := range map[string]struct {
		layer []byte
		text  string // of the error, or
		tree  string // what comes of it
	}{
		"up":                  {layer(t, "", file("../x", "")), "leads out of the image", ""},
		"down and up":         {layer(t, "", file("a/../../x", "")), "leads out of the image", ""},
		"whiteout up":         {layer(t, "", file("../.wh.x", "")), "leads out of the image", ""},
		"whiteout of nothing": {layer(t, "", file("a/.wh...", "")), "deletes nothing", ""},
		"absolute":            {layer(t, "", file(outside+"/f", "x")), "", ""},
		"hard link up":        {layer(t, "", hard("x", "../../f")), "leads out of the image", ""},
		"hard link to nobody": {layer(t, "", hard("x", "nobody")), "which is not a file", ""},
		"hard link to a dir":  {layer(t, "", dir("d", 0o755), hard("x", "d")), "which is not a file", ""},
		"hard link by a link": {layer(t, "", link("out", outside), hard("x", "out/f")), "which is not there", ""},
		"through a link":      {layer(t, "", link("out", outside), file("out/f", "x")), "", ""},
		"through a long link": {layer(t, "", link("a/out", strings.Repeat("../", 20)+outside), file("a/out/f", "x")), "", ""},
		"whiteout by a link":  {layer(t, "", link("out", outside), file("out/.wh.f", "")), "", "out->" + outside},
		"opaque by a link":    {layer(t, "", link("out", outside), file("out/.wh..wh..opq", "")), "", "out->" + outside},
		"a link for a link":   {layer(t, "", link("out", outside+"/f"), file("out", "x")), "", "out=x"},
		"chmod by a link":     {layer(t, "", link("out", outside), dir("out", 0o777)), "", "out/"},
		"links in circles":    {layer(t, "", link("a", "b"), link("b", "a"), file("a/f", "x")), "too many links", ""},
		"below a file":        {layer(t, "", file("f", "x"), file("f/g", "x")), "which is not a folder", ""},
		"no gzip":             {good[:len(good)/2], "damaged", ""},
		"no tar":              {[]byte(strings.Repeat("this is not a tar\n", 100)), "damaged", ""},
		"larger than large":   {layer(t, "", file("f", strings.Repeat("x", 2000))), "more than is accepted", ""},
		"nothing at all":      {layer(t, ""), "", ""},
	} {
		s.image(t, "1", "linux/amd64", nil, tc.layer)
		o, _ := options(t)
		o.MaxBytes = 1500
		root, err := image.Unpack(t.Context(), s.ref(":1"), o)
		switch {
		case tc.text == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tc.text != "" && (sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(err.Error(), tc.text) || !strings.Contains(err.Error(), "layer 1 of 1")):
			t.Errorf("%s: %s %v", name, sdk.CodeOf(err), err)
		case tc.text != "":
			nothingIn(t, o.Dir)
		case tc.tree != "" && shown(t, root.Dir) != tc.tree:
			t.Errorf("%s: %s", name, shown(t, root.Dir))
		}
		if got := shown(t, filepath.Dir(outside)); got != "outside/ outside/f=mine" {
			t.Fatalf("%s: outside is now %s", name, got)
		}
		if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0o755 {
			t.Fatalf("%s: outside has the mode %v", name, info.Mode())
		}
	}
}

func TestOtherBytes(t *testing.T) {
	s := newServer(t)
	l := layer(t, "gzip", file("f", "1"))
	s.image(t, "1", "linux/amd64", nil, l)
	other := bytes.Clone(l)
	other[len(other)-1] ^= 1
	s.blobs[sum(l)] = other
	o, _ := options(t)
	if _, err := image.Unpack(t.Context(), s.ref(":1"), o); sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(err.Error(), "something else") {
		t.Error(err)
	}
	nothingIn(t, o.Dir)
	if entries, _ := os.ReadDir(filepath.Join(o.Dir, "blobs")); len(entries) > 0 {
		t.Errorf("left behind: %v", entries)
	}
	s.manifests["1"] = append(s.manifests["1"], ' ')
	want := "@" + sum(bytes.TrimSpace(s.manifests["1"]))
	s.manifests[want[1:]] = s.manifests["1"]
	if _, err := image.Unpack(t.Context(), s.ref(want), o); err == nil {
		t.Error("another manifest than that of the digest was taken")
	}
}

func TestDerive(t *testing.T) {
	s := newServer(t)
	s.image(t, "1", "linux/amd64", object{"Env": []string{"A=1"}}, layer(t, "gzip", dir("etc", 0o755), file("etc/a", "base"), file("etc/b", "base"), file("c", "base"),
		file("d/e", "base"), file("o/x", "base"), file("same", "base"), link("l", "c")))
	o, _ := options(t)
	root, err := image.Unpack(t.Context(), s.ref(":1"), o)
	if err != nil {
		t.Fatal(err)
	}
	before := shown(t, root.Dir)
	opaque := dir("o", 0o755)
	opaque.PAXRecords = map[string]string{"SCHILY.xattr.trusted.overlay.opaque": "y"}
	top := filepath.Join(t.TempDir(), "top.tar")
	for _, pack := range []string{"", "zstd"} {
		if err := os.WriteFile(top, layer(t, pack, file("etc/a", "top"), device("c", 0, 0), hard("d", "c"), hard("l", "c"), opaque, file("o/y", "top"), device("dev/x", 1, 3)), 0o600); err != nil {
			t.Fatal(err)
		}
		derived, err := image.Derive(t.Context(), root, top)
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(t, derived.Dir); got != "etc/ etc/a=top etc/b=base o/ o/y=top same=base" {
			t.Errorf("derived: %s", got)
		}
		if got := shown(t, root.Dir); got != before {
			t.Errorf("the base is now %s", got)
		}
		if derived.Env[0] != "A=1" || derived.Digest == root.Digest {
			t.Errorf("%+v", derived)
		}
		a, _ := os.Stat(filepath.Join(root.Dir, "same"))
		b, _ := os.Stat(filepath.Join(derived.Dir, "same"))
		if !os.SameFile(a, b) {
			t.Error("what is the same is not shared")
		}
		if again, err := image.Derive(t.Context(), root, top); err != nil || again.Dir != derived.Dir {
			t.Errorf("again: %v, %v", again, err)
		}
	}
	if _, err := image.Derive(t.Context(), root, top+".none"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := image.Derive(t.Context(), image.Root{Dir: t.TempDir(), Digest: "sha256:x"}, top); sdk.CodeOf(err) != sdk.NotFound {
		t.Error(err)
	}
	if err := os.WriteFile(top, layer(t, "", file("../x", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := image.Derive(t.Context(), root, top); sdk.CodeOf(err) != sdk.Invalid {
		t.Error(err)
	}
	if all, _ := image.List(o.Dir); len(all) != 3 || all[0].Base+all[1].Base+all[2].Base != root.Digest+root.Digest {
		t.Errorf("%+v", all)
	}
}

// TestFullDisk runs itself with a cache on a file system of 1 MiB.
func TestFullDisk(t *testing.T) {
	if os.Getenv("SEER_TEST_FULL") == "" {
		rerun(t, "--size", "1048576", "--tmpfs", "/mnt", "--setenv", "SEER_TEST_FULL", "1")
		return
	}
	s := newServer(t)
	s.image(t, "packed", "linux/amd64", nil, layer(t, "gzip", file("f", strings.Repeat("x", 3<<20))))
	s.image(t, "large", "linux/amd64", nil, layer(t, "", file("f", strings.Repeat("x", 3<<20))))
	o, _ := options(t)
	o.Dir = "/mnt/cache"
	for _, tag := range []string{":packed", ":large"} {
		if _, err := image.Unpack(t.Context(), s.ref(tag), o); !errors.Is(err, state.ErrNoSpace) || !strings.Contains(err.Error(), "/mnt/cache") {
			t.Errorf("%s: %v", tag, err)
		}
		nothingIn(t, o.Dir)
	}
}

// rerun runs the test that calls it in a tree of its own.
func rerun(t *testing.T, args ...string) {
	t.Helper()
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		t.Fatal("bubblewrap is needed for this test: apt-get install bubblewrap")
	}
	all := append([]string{"--unshare-user", "--ro-bind", "/", "/", "--dev", "/dev", "--tmpfs", "/tmp"}, args...)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, "--ro-bind", self, "/tmp/self", "/tmp/self", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd := exec.Command(bwrap, all...)
	cmd.Dir = "/"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestAsOrdinaryUser runs the other tests without the rights of root.
func TestAsOrdinaryUser(t *testing.T) {
	out := ordinaryuser.Again{Args: []string{"-test.run=^(TestUnpack|TestHostileLayers|TestDerive|TestPrune)$"}}.Run(t)
	if out != "" && !strings.Contains(out, "--- PASS: TestDerive") {
		t.Errorf("the tests did not run:\n%s", out)
	}
}
