package image_test

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/image"
	"github.com/seer-engine/seer/engine/isolation"
)

// TestPythonOfAnImage packs this computer's Python and the libraries that it is linked
// with into an image, and runs it in that image and nothing else.
func TestPythonOfAnImage(t *testing.T) {
	python := "/usr/bin/python3"
	out, err := exec.Command(python, "-Sc", "import os,sys; print(os.path.realpath(sys.executable)); print(os.path.dirname(os.__file__))").Output()
	if err != nil {
		t.Fatalf("%s is needed for this test: %v", python, err)
	}
	binary, lib, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	libraries, err := exec.Command("ldd", binary).Output()
	if err != nil {
		t.Fatal(err)
	}
	p := packer{t: t, seen: map[string]bool{}}
	p.w = tar.NewWriter(&p.buf)
	p.copy(binary, "/usr/bin/python3.real")
	p.put(tar.Header{Name: "usr/bin/python3", Typeflag: tar.TypeSymlink, Linkname: "/usr/bin/python3.real", Mode: 0o777}, "")
	for _, field := range strings.Fields(string(libraries)) {
		if strings.HasPrefix(field, "/") {
			p.copy(field, field)
		}
	}
	for _, name := range []string{"encodings", "collections", "importlib", "re", "json"} {
		p.folder(filepath.Join(lib, name))
	}
	top, err := filepath.Glob(lib + "/*.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range top {
		p.copy(file, file)
	}
	if err := p.w.Close(); err != nil {
		t.Fatal(err)
	}
	marker := layer(t, "zstd", dir("etc", 0o755), file("etc/marker", "from the image"), dir("tmp", 0o1777), file("usr/lib/.wh.nothing", ""))
	s := newServer(t)
	s.image(t, "3", "linux/amd64", object{"Env": []string{"PATH=/usr/bin"}}, packed(t, "gzip", p.buf.Bytes()), marker)
	o, l := options(t)
	root, err := image.Unpack(t.Context(), s.ref(":3"), o)
	if err != nil {
		t.Fatal(err, l)
	}
	run := func(root image.Root) string {
		cmd, err := isolation.Command(isolation.Bubblewrap, isolation.Spec{
			Argv: []string{"/usr/bin/python3", "-c", "import json, os; print(json.dumps([open('/etc/marker').read(), sorted(os.listdir('/usr/bin'))]))"},
			Env:  map[string]string{"PATH": "/usr/bin", "PYTHONHOME": strings.TrimSuffix(filepath.Dir(lib), "/lib"), "LANG": "C.UTF-8"},
			Root: isolation.Root{Image: root.Dir}, DieWithParent: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer isolation.Release(cmd)
		got, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, got)
		}
		return strings.TrimSpace(string(got))
	}
	if got := run(root); got != `["from the image", ["python3", "python3.real"]]` {
		t.Errorf("it says %s", got)
	}
	change := filepath.Join(t.TempDir(), "change.tar")
	if err := os.WriteFile(change, layer(t, "", file("etc/marker", "from the layer"), file("usr/bin/tool", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	derived, err := image.Derive(t.Context(), root, change)
	if err != nil {
		t.Fatal(err)
	}
	if got := run(derived); got != `["from the layer", ["python3", "python3.real", "tool"]]` {
		t.Errorf("the derived one says %s", got)
	}
}

// packer makes a tar of files of this computer.
type packer struct {
	t    *testing.T
	buf  bytes.Buffer
	w    *tar.Writer
	seen map[string]bool
}

func (p *packer) put(h tar.Header, body string) {
	h.Size = int64(len(body))
	if err := p.w.WriteHeader(&h); err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.w.Write([]byte(body)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *packer) copy(from, to string) {
	if p.seen[to] {
		return
	}
	p.seen[to] = true
	data, err := os.ReadFile(from)
	if err != nil {
		p.t.Fatal(err)
	}
	p.put(tar.Header{Name: to, Typeflag: tar.TypeReg, Mode: 0o755}, string(data))
}

func (p *packer) folder(dir string) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".py") {
			p.copy(path, path)
		}
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// TestKilled ends a program at several moments of its work. The next one finds nothing
// half done, and no lock.
func TestKilled(t *testing.T) {
	if dir := os.Getenv("SEER_TEST_KILLED"); dir != "" {
		o, _ := options(t)
		o.Dir = dir
		_, _ = image.Unpack(t.Context(), os.Getenv("SEER_TEST_REF"), o)
		return
	}
	s := newServer(t)
	var layers [][]byte
	for i := range 6 {
		var files []entry
		for j := range 200 {
			files = append(files, file(strings.Repeat("d/", i+1)+string(rune('a'+j%26))+strings.Repeat("x", j), strings.Repeat("seer", 2000)))
		}
		layers = append(layers, layer(t, "gzip", files...))
	}
	s.image(t, "1", "linux/amd64", nil, layers...)
	o, _ := options(t)
	for i := range 6 {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), "SEER_TEST_KILLED="+o.Dir, "SEER_TEST_REF="+s.ref(":1"), "TMPDIR="+t.TempDir())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(20+30*i) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	root, err := image.Unpack(t.Context(), s.ref(":1"), o)
	if err != nil {
		t.Fatal(err)
	}
	all, err := image.List(o.Dir)
	if err != nil || len(all) != 1 || all[0].Files != 1200 || strings.Count(shown(t, root.Dir), "=") != 1200 {
		t.Errorf("%d roots, %v", len(all), err)
	}
	if _, err := image.Prune(o.Dir, func(image.Stored) bool { return false }); err != nil {
		t.Error(err)
	}
	nothingIn(t, o.Dir)
}
