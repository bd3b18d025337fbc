package image_test

import (
	"archive/tar"
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/image"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

var then = time.Unix(1_600_000_000, 0)

func TestUnpack(t *testing.T) {
	s := newServer(t)
	setuid := file("bin/su", "su")
	setuid.Mode, setuid.ModTime = 0o4111, then
	old := dir("old", 0o755)
	old.ModTime = then
	amd := s.image(t, "amd", "linux/amd64", object{"Env": []string{"PATH=/bin", "A=é"}, "WorkingDir": "/srv", "User": "7:8"},
		layer(t, "gzip", dir("bin", 0o555), setuid, dir("run", 0o1777), link("var/run", "/run"), old, file("old/a", "1"), file("old/b", "1"),
			dir("gone", 0o755), file("gone/x", "1"), file("keep", "1"), link("up", "../../../keep")),
		layer(t, "zstd", file("var/run/pid", "2"), file("old/.wh.a", ""), file("old/c", "2"), file(".wh.gone", ""), hard("bin/twin", "bin/su"),
			device("dev/null", 1, 3), entry{tar.Header{Name: "pipe", Typeflag: tar.TypeFifo}, ""}),
		layer(t, "", dir("old", 0o700), file("old/.wh..wh..opq", ""), file("old/d", "3"), hard("twin2", "/up/../bin/twin"), link("keep", "x"),
			file(".wh..wh.plnk", "")))
	arm := s.image(t, "arm", "linux/arm64", nil, layer(t, "gzip", file("arm", "")))
	attestation := object{"mediaType": manifestType, "digest": sum(nil), "size": 3, "platform": object{"os": "unknown", "architecture": "unknown"}}
	s.put(t, "all", indexType, object{"manifests": []object{attestation, arm, amd}})
	o, l := options(t)
	root, err := image.Unpack(t.Context(), s.ref(":all"), o)
	if err != nil {
		t.Fatal(err, l)
	}
	if root.Digest != amd["digest"] || strings.Join(root.Env, " ") != "PATH=/bin A=é" || root.Workdir != "/srv" || root.User != "7:8" || root.Platform != "linux/amd64" {
		t.Errorf("%+v", root)
	}
	want := "bin/ bin/su=su bin/twin=su keep->x old/ old/d=3 run/ run/pid=2 twin2=su up->../../../keep var/ var/run->/run"
	if got := shown(t, root.Dir); got != want {
		t.Errorf("the tree is\n%s\nnot\n%s", got, want)
	}
	for path, mode := range map[string]fs.FileMode{"bin": fs.ModeDir | 0o755, "bin/su": 0o511, "run": fs.ModeDir | fs.ModeSticky | 0o777, "old": fs.ModeDir | 0o700} {
		if info, err := os.Stat(filepath.Join(root.Dir, path)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	if info, _ := os.Stat(filepath.Join(root.Dir, "bin/twin")); !info.ModTime().Equal(then) {
		t.Errorf("time %v", info.ModTime())
	}
	for _, line := range []string{"3 layers", "unpacking layer 2 of 3", "left out 1 × device", "left out 1 × pipe"} {
		if !strings.Contains(l.String(), line) {
			t.Errorf("nothing was said of %q:\n%s", line, l)
		}
	}
	if at, err := root.Resolve("/var/run/pid"); err != nil || at != filepath.Join(root.Dir, "run/pid") {
		t.Errorf("%s, %v", at, err)
	}
	if at, err := root.Resolve("/up/../../etc/passwd"); err == nil {
		t.Errorf("out of the root: %s", at)
	}
	again(t, s, o, l, root)
}

// again asks for an image that is there, with and without its registry.
func again(t *testing.T, s *server, o image.Options, l *logs, root image.Root) {
	loads := s.loads.Load()
	for _, ref := range []string{":all", "@" + root.Digest, ":amd"} {
		if r, err := image.Unpack(t.Context(), s.ref(ref), o); err != nil || r.Dir != root.Dir {
			t.Errorf("%s: %+v, %v", ref, r, err)
		}
	}
	if n := s.loads.Load(); n != loads {
		t.Errorf("%d blobs were asked for again", n-loads)
	}
	all, err := image.List(o.Dir)
	if err != nil || len(all) != 1 || len(all[0].Refs) != 2 || all[0].Files == 0 || all[0].Bytes == 0 || all[0].LastUse.IsZero() {
		t.Errorf("list: %+v, %v", all, err)
	}
	s.Close()
	o.Stall = 5 * time.Second
	if r, err := image.Unpack(t.Context(), s.ref("@"+root.Digest), o); err != nil || r.Dir != root.Dir {
		t.Errorf("by digest without a registry: %v", err)
	}
	if r, err := image.Unpack(t.Context(), s.ref(":all"), o); err != nil || r.Dir != root.Dir || !strings.Contains(l.String(), "what it named less than 2 minutes ago is used") {
		t.Errorf("by tag without a registry: %v\n%s", err, l)
	}
	if _, err := image.Unpack(t.Context(), s.ref(":other"), o); sdk.CodeOf(err) != sdk.Unavailable || !strings.Contains(err.Error(), "the image "+s.ref(":other")) {
		t.Errorf("another tag without a registry: %v", err)
	}
}

func TestWhatIsNotThere(t *testing.T) {
	s := newServer(t)
	s.image(t, "arm", "linux/arm64", nil, layer(t, "gzip", file("f", "")))
	s.put(t, "index", indexType, object{"manifests": []object{s.image(t, "x", "linux/arm64", nil, layer(t, "gzip", file("f", "")))}})
	s.put(t, "chart", manifestType, object{"config": s.add("application/vnd.cncf.helm.config.v1+json", []byte("{}")), "layers": []object{s.add("text/plain", []byte("x"))}})
	s.put(t, "odd", manifestType, object{"config": s.add(configType, []byte("{}")), "layers": []object{s.add("application/vnd.oci.image.layer.v1.tar+gzip+encrypted", []byte("x"))}})
	s.put(t, "path", manifestType, object{"config": s.add(configType, []byte("{}")), "layers": []object{{"mediaType": gzipType, "digest": "sha256:../../../x", "size": 1}}})
	s.put(t, "old", "application/vnd.docker.distribution.manifest.v1+prettyjws", object{})
	o, _ := options(t)
	for ref, want := range map[string]struct {
		code sdk.Code
		text string
	}{
		s.ref(":none"): {sdk.NotFound, "there is no such image or tag"}, s.ref(":arm"): {sdk.NotFound, "it is for linux/arm64, not for linux/amd64"},
		s.ref(":index"): {sdk.NotFound, "there are linux/arm64"}, s.ref(":chart"): {sdk.Invalid, "not an image but something of the type"},
		s.ref(":odd"): {sdk.Unsupported, "cannot be unpacked"}, s.ref(":path"): {sdk.Invalid, "which cannot be"},
		s.ref(":old"): {sdk.Unsupported, "of the type"}, "Not An Image": {sdk.Invalid, "not a name of an image"}, "": {sdk.Invalid, "not a name of an image"},
		"example.org/x:1": {sdk.Invalid, "plain HTTP"},
	} {
		if _, err := image.Unpack(t.Context(), ref, o); sdk.CodeOf(err) != want.code || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%s: %s %v", ref, sdk.CodeOf(err), err)
		}
	}
	nothingIn(t, o.Dir)
	o.Open = nil
	if _, err := image.Unpack(t.Context(), s.ref(":arm"), o); sdk.CodeOf(err) != sdk.Unsupported {
		t.Errorf("without a client: %v", err)
	}
}

func TestLogin(t *testing.T) {
	s := newServer(t)
	s.image(t, "1", "linux/amd64", nil, layer(t, "gzip", file("f", "1")))
	s.login = "me:secret"
	o, _ := options(t)
	if _, err := image.Unpack(t.Context(), s.ref(":1"), o); sdk.CodeOf(err) != sdk.Unauthorized || !strings.Contains(err.Error(), "docker login") {
		t.Errorf("%v", err)
	}
	config := fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, strings.TrimPrefix(s.URL, "http://"), base64.StdEncoding.EncodeToString([]byte(s.login)))
	if err := os.WriteFile(filepath.Join(os.Getenv("DOCKER_CONFIG"), "config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := image.Unpack(t.Context(), s.ref(":1"), o); err != nil {
		t.Error(err)
	}
	o.Dir, o.Credentials = t.TempDir(), func(context.Context, string) (string, string, error) { return "me", "wrong", nil }
	if _, err := image.Unpack(t.Context(), s.ref(":1"), o); sdk.CodeOf(err) != sdk.Unauthorized || strings.Contains(err.Error(), "wrong") {
		t.Errorf("%v", err)
	}
}

func TestResume(t *testing.T) {
	s := newServer(t)
	big := layer(t, "", file("f", strings.Repeat("seer", 100_000)))
	s.image(t, "1", "linux/amd64", nil, big)
	s.cut = 150_000
	o, l := options(t)
	root, err := image.Unpack(t.Context(), s.ref(":1"), o)
	if err != nil {
		t.Fatal(err, l)
	}
	if n := s.ranges.Load(); n < 2 || s.loads.Load() != n+2 { // the first one, and the configuration
		t.Errorf("%d downloads, %d of them continued", s.loads.Load(), n)
	}
	if got := shown(t, root.Dir); got != "f="+strings.Repeat("seer", 100_000) {
		t.Error("the file is another one")
	}

	// What a program that was killed has left is continued; what is damaged is not used.
	for name, left := range map[string][]byte{"continued": big[:300_000], "damaged": make([]byte, 300_000), "too long": append(big[:len(big):len(big)], 'x')} {
		o.Dir = t.TempDir()
		blobs := filepath.Join(o.Dir, "blobs")
		if err := os.MkdirAll(blobs, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(blobs, sum(big)[7:]+".part"), left, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := image.Unpack(t.Context(), s.ref(":1"), o)
		if name == "damaged" {
			if sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(err.Error(), "something else") {
				t.Errorf("%s: %v", name, err)
			}
			_, err = image.Unpack(t.Context(), s.ref(":1"), o)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if entries, _ := os.ReadDir(blobs); len(entries) > 0 {
			t.Errorf("%s: left behind: %v", name, entries)
		}
	}
}

func TestTwoAtOnce(t *testing.T) {
	s := newServer(t)
	s.image(t, "1", "linux/amd64", nil, layer(t, "gzip", file("f", "1")), layer(t, "gzip", file("g", "1")))
	o, _ := options(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if _, err := image.Unpack(t.Context(), s.ref(":1"), o); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	// Each asks for the small configuration; the layers come once.
	if n := s.loads.Load(); n > 4+2 {
		t.Errorf("%d downloads", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := image.Unpack(ctx, s.ref(":1"), o); !strings.Contains(fmt.Sprint(err), "canceled") {
		t.Errorf("cancelled: %v", err)
	}
}

// A program starts a machine from an image while another one removes images before it.
func TestPruneBesideAStart(t *testing.T) {
	s := newServer(t)
	s.image(t, "1", "linux/amd64", nil, layer(t, "gzip", file("f", "1")))
	s.image(t, "2", "linux/amd64", nil, layer(t, "gzip", file("g", "22")))
	o, _ := options(t)
	long := time.Now().Add(-time.Hour)
	refs := map[string]string{}
	for _, tag := range []string{":1", ":2"} {
		root, err := image.Unpack(t.Context(), s.ref(tag), o)
		if err == nil {
			err = os.Chtimes(filepath.Join(filepath.Dir(root.Dir), "root.json"), long, long)
		}
		if err != nil {
			t.Fatal(err)
		}
		refs[root.Digest] = s.ref("@" + root.Digest)
	}
	var used image.Root
	_, err := image.Prune(o.Dir, func(st image.Stored) bool {
		if used.Dir != "" {
			return time.Since(st.LastUse) < time.Minute
		}
		delete(refs, st.Digest)
		for _, ref := range refs { // the one that comes later
			var err error
			if used, err = image.Unpack(t.Context(), ref, o); err != nil {
				t.Error(err)
			}
		}
		return false
	})
	if err != nil || used.Dir == "" {
		t.Fatal(used, err)
	}
	if _, err := os.Stat(used.Dir); err != nil {
		t.Errorf("the root of a machine is gone: %v", err)
	}
}

func TestPrune(t *testing.T) {
	s := newServer(t)
	s.image(t, "1", "linux/amd64", nil, layer(t, "gzip", dir("d", 0o100), file("d/f", "1")))
	s.image(t, "2", "linux/amd64", nil, layer(t, "gzip", file("g", "22")))
	o, _ := options(t)
	one, err := image.Unpack(t.Context(), s.ref(":1"), o)
	if err != nil {
		t.Fatal(err)
	}
	two, err := image.Unpack(t.Context(), s.ref(":2"), o)
	if err != nil {
		t.Fatal(err)
	}
	// What three killed programs have left, and one that lives.
	for _, path := range []string{"roots/dead.partial/tree/x", "blobs/dead.part", "locks/dead", "roots/alive.partial/tree", "blobs/alive"} {
		if err := os.MkdirAll(filepath.Join(o.Dir, filepath.Dir(path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(o.Dir, path), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"alive", "blob-alive"} {
		lock, err := state.Acquire(t.Context(), filepath.Join(o.Dir, "locks", name))
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Remove()
	}
	var freed atomic.Int64
	var programs sync.WaitGroup
	for range 4 { // of which each removes what is there
		programs.Go(func() {
			n, err := image.Prune(o.Dir, func(st image.Stored) bool { return st.Digest == one.Digest })
			if freed.Add(n); err != nil {
				t.Error(err)
			}
		})
	}
	programs.Wait()
	if freed.Load() != 2 {
		t.Errorf("%d bytes", freed.Load())
	}
	if _, err := os.Stat(two.Dir); err == nil {
		t.Error("it is there still")
	}
	var left []string
	for _, sub := range []string{"roots", "blobs", "locks", "refs"} {
		entries, _ := os.ReadDir(filepath.Join(o.Dir, sub))
		for _, e := range entries {
			left = append(left, sub+"/"+e.Name()[:min(5, len(e.Name()))])
		}
	}
	if got := strings.Join(left, " "); got != "roots/"+one.Digest[7:12]+" roots/alive blobs/alive locks/alive locks/blob- refs/"+left[len(left)-1][5:] {
		t.Errorf("left: %s", got)
	}
	if root, err := image.Unpack(t.Context(), s.ref(":2"), o); err != nil || shown(t, root.Dir) != "g=22" {
		t.Errorf("once more: %v", err)
	}
	if all, err := image.List(filepath.Join(o.Dir, "nowhere")); err != nil || len(all) != 0 {
		t.Errorf("an empty cache: %v, %v", all, err)
	}
}
