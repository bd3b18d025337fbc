package local

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local/internal/rootfs"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/testimage"
	"github.com/seer-engine/seer/sdk"
)

// create repeats Create until there is a machine, as the engine does.
func (pl *place) create(spec sdk.MachineSpec) (sdk.CreateStep, error) {
	var log []string
	var step sdk.CreateStep
	for {
		var err error
		if step, err = pl.p.Create(context.Background(), spec, step.Cursor); err != nil {
			return step, err
		}
		log = append(log, step.Log...)
		if step.Handle == "" {
			time.Sleep(time.Duration(step.AfterSeconds * float64(time.Second)))
			continue
		}
		step.Log = log
		return step, nil
	}
}

func TestImage(t *testing.T) {
	r := testimage.New(t)
	ref := r.Python(t)
	pl := newPlace(t)
	for _, kind := range own() {
		spec := pl.spec("image-"+kind, kind)
		spec.Image = &sdk.Image{Base: ref}
		b := pl.up(spec)
		if got := b.run(`
import os, sys
print(sys.executable, os.environ["OF_THE_IMAGE"], os.environ["HOME"], "SEER_X" in os.environ, os.environ["PATH"])
print(open("/etc/image").read(), os.getcwd(), os.getuid(), os.path.exists("/usr/bin/env"))
open("/workspace/x", "w").close()
for place in ("/opt/new", "/etc/new", "/etc/image"):
    try: open(place, "w"); print("wrote", place)
    except OSError: pass
`); got != "/opt/image python/bin/python3 a b /home/seer False /opt/image python/bin:/usr/bin\nfirst /workspace 1000 False" {
			t.Errorf("%s: %s", kind, got)
		}
		b.down()
		r.Close() // the next one finds it here
	}
	pl.empty()
}

func TestImagesThatCannotBeUsed(t *testing.T) {
	r := testimage.New(t)
	layer := func(content map[string]string) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		testimage.Files(t, w, content)
		_ = w.Close()
		return b.Bytes()
	}
	for name, tc := range map[string]struct {
		ref, text string
		code      sdk.Code
	}{
		"no Python":  {r.Add(t, "bare", layer(map[string]string{"etc/x": "x"})), "no python3 in its PATH", sdk.Unsupported},
		"old Python": {r.Add(t, "old", layer(map[string]string{"usr/bin/python3.6": "x", "usr/bin/python3": ""})), "", sdk.Unsupported},
		"a folder":   {r.Add(t, "folder", layer(map[string]string{"usr/bin/python3/": ""})), "no python3", sdk.Unsupported},
		"none":       {strings.TrimPrefix(r.URL, "http://") + "/nobody:1", "nobody", sdk.NotFound},
	} {
		pl := newPlace(t)
		spec := pl.spec("bad", isolation.Bubblewrap)
		spec.Image = &sdk.Image{Base: tc.ref}
		if name == "old Python" { // the link tells the version
			var b bytes.Buffer
			w := tar.NewWriter(&b)
			testimage.Files(t, w, map[string]string{"usr/bin/python3.6": "x"})
			_ = w.WriteHeader(&tar.Header{Name: "usr/bin/python3", Linkname: "python3.6", Typeflag: tar.TypeSymlink})
			_ = w.Close()
			spec.Image.Base, tc.text = r.Add(t, "older", b.Bytes()), "has Python 3.6"
		}
		if _, err := pl.create(spec); sdk.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %s, %v", name, sdk.CodeOf(err), err)
		}
		pl.empty()
	}
}

// TestImageThatTakesLong: a call comes back, and the image is fetched meanwhile, once.
func TestImageThatTakesLong(t *testing.T) {
	r := testimage.New(t)
	r.Gate = make(chan struct{})
	pl := newPlace(t)
	pl.p.roots.Wait = 50 * time.Millisecond
	spec := pl.spec("slow", isolation.Bubblewrap)
	spec.Image = &sdk.Image{Base: r.Python(t)}
	step, err := pl.p.Create(context.Background(), spec, nil)
	if err != nil || step.Handle != "" || len(step.Cursor) == 0 {
		t.Fatalf("%+v, %v", step, err)
	}
	close(r.Gate)
	done, err := pl.create(spec)
	if err != nil {
		t.Fatal(err)
	}
	if log := strings.Join(append(step.Log, done.Log...), "\n"); !strings.Contains(log, "python") {
		t.Errorf("the log: %s", log)
	}
	pl.await(done.Handle, sdk.Running)
}

func TestGVisorSavesSystems(t *testing.T) {
	r := testimage.New(t)
	pl := newPlace(t)
	layer := filepath.Join(pl.base, "a layer")
	if err := os.Mkdir(layer, 0o700); err != nil {
		t.Fatal(err)
	}
	spec := pl.spec("build", isolation.GVisor)
	spec.Image = &sdk.Image{Base: r.Python(t), Commands: []string{"true"}}
	spec.Mounts = []sdk.Mount{{Source: layer, Target: "/seer/layer", Writable: true}}
	b := pl.up(spec)
	if got := b.run(`
import os
print(os.getuid())
open("/etc/image", "w").write("changed"); open("/opt/new", "w").write("new"); os.unlink("/etc/gone")
open("/seer/layer/made", "w").write("x"); open("/workspace/mine", "w").close()
`); got != "0" {
		t.Fatalf("inside: %s", got)
	}
	if _, err := os.Stat(filepath.Join(layer, "made")); err != nil {
		t.Error(err)
	}
	step, err := pl.p.Snapshot(context.Background(), b.handle, "one", nil)
	if err != nil || !strings.HasPrefix(step.Image, rootfs.SavedPrefix) {
		t.Fatalf("%+v, %v", step, err)
	}
	if again, err := pl.p.Snapshot(context.Background(), b.handle, "one", nil); err != nil || again.Image != step.Image {
		t.Errorf("again: %+v, %v", again, err)
	}
	full := func() { // what does not fit leaves nothing
		dir := filepath.Join(savedDir(pl.p.Dir), "full")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(dir)
		defer syscall.Unmount(dir, 0)
		b.run(`open("/opt/big", "wb").write(os.urandom(1 << 20)) if (os := __import__("os")) else 0`)
		n, err := pl.p.folder(b.handle).read()
		if err != nil {
			t.Fatal(err)
		}
		small := rootfs.Store{SavedDir: dir, Lock: pl.p.lock}
		if _, err := small.Save(context.Background(), "full", func() (string, *rootfs.Tree, error) {
			return pl.p.folder(b.handle).path("gvisor"), n.System, nil
		}); !errors.Is(err, state.ErrNoSpace) {
			t.Errorf("on a full disk: %v", err)
		}
		if left, _ := os.ReadDir(dir); len(left) != 1 || left[0].Name() != "keys" {
			t.Errorf("left: %v", left)
		}
	}
	if os.Geteuid() == 0 { // only root can mount a small disk
		full()
	}
	b.down()
	if again, err := pl.p.Snapshot(context.Background(), b.handle, "one", nil); err != nil || again.Image != step.Image {
		t.Errorf("after the end: %+v, %v", again, err)
	}
	if _, err := pl.p.Snapshot(context.Background(), b.handle, "two", nil); sdk.CodeOf(err) != sdk.NotFound {
		t.Errorf("of no machine: %v", err)
	}
	r.Close()
	for _, kind := range own() {
		spec := pl.spec("from-"+kind, kind)
		spec.Image = &sdk.Image{Snapshot: step.Image}
		b := pl.up(spec)
		if got := b.run(`
import os
print(open("/etc/image").read(), open("/opt/new").read(), os.path.exists("/etc/gone"), open("/opt/note").read(), os.getuid(), os.listdir("/workspace"))`); got != "changed new False of the image 1000 []" {
			t.Errorf("%s: %s", kind, got)
		}
		if _, err := pl.p.Snapshot(context.Background(), b.handle, "x", nil); sdk.CodeOf(err) != sdk.Unsupported {
			t.Errorf("%s: saved what cannot change: %v", kind, err)
		}
		b.down()
	}
	if err := FindSaved(pl.p.Dir, step.Image); err != nil {
		t.Errorf("what was saved is not found: %v", err)
	}
	id := strings.TrimPrefix(step.Image, rootfs.SavedPrefix)
	file := filepath.Join(savedDir(pl.p.Dir), id+".tar")
	for what, damage := range map[string]func() error{
		"is damaged": func() error { return os.WriteFile(file, []byte("x"), 0o600) },
		"cannot be read": func() error {
			return os.WriteFile(filepath.Join(savedDir(pl.p.Dir), id+".json"), []byte(`{"version":1,"base":"evil"}`), 0o600)
		},
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		spec := pl.spec("damaged", isolation.Bubblewrap)
		spec.Image = &sdk.Image{Snapshot: step.Image}
		if _, err := pl.create(spec); err == nil || !strings.Contains(err.Error(), what) && !strings.Contains(err.Error(), "cannot be read") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestGVisorSavesChangesOfThisComputer: without an image, what changes lies on the system here.
func TestGVisorSavesChangesOfThisComputer(t *testing.T) {
	pl := newPlace(t)
	spec := pl.spec("own", isolation.GVisor)
	spec.Image = &sdk.Image{SystemPackages: []string{"jq"}}
	b := pl.up(spec)
	if got := b.run(`
import os
open("/usr/local/bin/made", "w").write("x"); print(os.getuid(), os.path.exists("/root/.bashrc"), os.path.exists(%q))`, pl.base); got != "0 False False" {
		t.Errorf("inside: %s", got)
	}
	step, err := pl.p.Snapshot(context.Background(), b.handle, "k", nil)
	if err != nil {
		t.Fatal(err)
	}
	b.down()
	if _, err := os.Stat("/usr/local/bin/made"); err == nil {
		t.Error("this computer was changed")
	}
	for _, kind := range own() {
		spec := pl.spec("again-"+kind, kind)
		spec.Image = &sdk.Image{Snapshot: step.Image}
		if kind == isolation.Bubblewrap {
			if _, err := pl.create(spec); sdk.CodeOf(err) != sdk.Unsupported || !strings.Contains(err.Error(), "gvisor") {
				t.Errorf("in bubblewrap: %v", err)
			}
			continue
		}
		if got := pl.up(spec).run(`print(open("/usr/local/bin/made").read())`); got != "x" {
			t.Errorf("%s: %s", kind, got)
		}
	}
}
