package sshhost_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/internal/sshtest"
	"github.com/seer-engine/seer/internal/testimage"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// imageSpec is a machine of an image, which ends where it does not run in that of package testimage.
func imageSpec(key, base string) sdk.MachineSpec {
	spec := sshtest.Spec(key)
	spec.Image = &sdk.Image{Base: base}
	spec.Command[2] = "assert open('/etc/image').read() == 'first'\n" + spec.Command[2]
	return spec
}

// create takes steps until there is a machine.
func (b *box) create(spec sdk.MachineSpec) (handle string, log []string, err error) {
	b.t.Helper()
	var cursor json.RawMessage
	for {
		step, err := call[sdk.CreateStep](b, "create", sdk.CreateInput{Spec: spec, Cursor: cursor})
		log = append(log, step.Log...)
		if err != nil || step.Handle != "" {
			return step.Handle, log, err
		}
		if cursor = step.Cursor; len(cursor) == 0 {
			b.t.Fatalf("%+v", step)
		}
	}
}

// running waits until a machine runs, and connects to it.
func (b *box) running(handle string) {
	b.t.Helper()
	var o sdk.Observation
	testkit.Eventually(b.t, "the machine", func() bool {
		o = testkit.Must(call[[]sdk.Observation](b, "observe", sdk.ObserveInput{Handles: []string{handle}}))(b.t)[0]
		if !o.State.Live() {
			b.t.Fatalf("%+v", o)
		}
		return o.State == sdk.Running
	})
	b.echoes(targets(o)[0], "hello")
}

// Machines start from images of a registry, and from files and folders of the host. What none runs
// in any more is removed from the cache, also beside another machine.
func TestMachinesFromImages(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	folder := filepath.Join(b.Home, "an image")
	testimage.Tree(t, folder)
	file := testimage.Squash(t, folder, filepath.Join(b.Home, "image.sqsh"))
	ref := testimage.New(t).Python(t)
	handles := map[string]string{}
	for i, base := range []string{folder, file, ref} {
		handle, _, err := b.create(imageSpec(fmt.Sprint("seer-image-", i)+b.mark, base))
		if err != nil {
			t.Fatal(err)
		}
		b.running(handle)
		handles[base] = handle
	}
	for _, f := range testkit.Must(call[[]sdk.Finding](b, "check", sdk.CheckQuery{Network: "none", Image: file}))(t) {
		if (f.Name == "image "+file || f.Name == "unsquashfs") && f.State != sdk.FindingOK || f.Name == "python" {
			t.Errorf("%+v", f)
		}
	}
	_, _, err := b.create(imageSpec("seer-none"+b.mark, filepath.Join(b.Home, "none.sif")))
	testkit.WantCode(t, err, sdk.NotFound, "the image "+b.Home+"/none.sif: there is no such file")

	roots, _ := filepath.Glob(filepath.Join(b.Home, ".cache/seer/images/roots/*/root.json"))
	for _, root := range roots {
		if err := os.Chtimes(root, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	clean := func(dry bool, want ...string) {
		t.Helper()
		var got []string
		for _, c := range testkit.Must(call[[]sdk.Cleaned](b, "clean", sdk.CleanInput{DryRun: dry}))(t) {
			if strings.HasPrefix(c.Name, "image ") {
				got = append(got, c.Name)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("dry %v: removed %v, want %v", dry, got, want)
		}
	}
	clean(false)
	testkit.Must(call[struct{}](b, "terminate", sdk.TerminateInput{Handle: handles[file]}))(t)
	clean(true, "image "+file)
	clean(false, "image "+file)
	if left, _ := filepath.Glob(filepath.Join(b.Home, ".cache/seer/images/roots/*")); len(roots) != 2 || len(left) != 1 {
		t.Errorf("unpacked: %v, left: %v", roots, left)
	}
	b.running(handles[ref])
	testkit.Must(call[struct{}](b, "terminate", sdk.TerminateInput{Handle: handles[folder]}))(t)
	testkit.Must(call[struct{}](b, "terminate", sdk.TerminateInput{Handle: handles[ref]}))(t)
	clean(false, "image "+ref)
	if left := testkit.Files(t, filepath.Join(b.Home, ".cache/seer/images")); len(left) > 0 {
		t.Errorf("left of the images: %v", left)
	}
}

// imagePrograms are those that make images for a host.
func imagePrograms(b *box) (pids []int) {
	for _, pid := range sshtest.Processes("seer-runtime-") {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.HasPrefix(string(line), b.Home) && bytes.HasSuffix(line, []byte("\x00provider\x00image\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// slowImage begins to make an image, and waits until a program does. It lasts until r.Gate is closed.
func (b *box) slowImage(key string) (r *testimage.Registry, spec sdk.MachineSpec, step sdk.CreateStep) {
	b.t.Helper()
	r = testimage.New(b.t)
	r.Gate = make(chan struct{})
	spec = imageSpec(key+b.mark, r.Python(b.t))
	step = testkit.Must(call[sdk.CreateStep](b, "create", sdk.CreateInput{Spec: spec}))(b.t)
	if step.Handle != "" || step.AfterSeconds == 0 {
		b.t.Fatalf("%+v", step)
	}
	testkit.Eventually(b.t, "the program", func() bool { return len(imagePrograms(b)) == 1 })
	return r, spec, step
}

// An image that takes longer than a call is made by a program that may be killed.
func TestImageOfAHostThatTakesLong(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	r, spec, step := b.slowImage("seer-slow")
	for _, pid := range imagePrograms(b) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(t, "its end", func() bool { return len(imagePrograms(b)) == 0 })
	step = testkit.Must(call[sdk.CreateStep](b, "create", sdk.CreateInput{Spec: spec, Cursor: step.Cursor}))(t)
	if step.Handle != "" {
		t.Fatalf("%+v", step)
	}
	testkit.Eventually(t, "another program", func() bool { return len(imagePrograms(b)) == 1 })
	close(r.Gate)
	testkit.Eventually(t, "its end", func() bool { return len(imagePrograms(b)) == 0 })
	step = testkit.Must(call[sdk.CreateStep](b, "create", sdk.CreateInput{Spec: spec, Cursor: step.Cursor}))(t)
	if log := strings.Join(step.Log, "\n"); step.Handle == "" || strings.Count(log, ": unpacked ") != 1 || !strings.Contains(log, "isolation: bubblewrap") || strings.Contains(log, "another program") {
		t.Fatalf("%+v", step)
	}
	b.running(step.Handle)
	if left, _ := filepath.Glob(filepath.Join(b.Home, ".cache/seer/images/*/*")); len(left) != 2 { // a root and what names it
		t.Errorf("left: %v", left)
	}
}

// Why a program that makes an image fails is the error of the creation, and the next one tries again.
func TestImageOfAHostThatIsLost(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	r, spec, step := b.slowImage("seer-lost")
	r.Lose()
	close(r.Gate)
	testkit.Eventually(t, "its end", func() bool { return len(imagePrograms(b)) == 0 })
	_, err := call[sdk.CreateStep](b, "create", sdk.CreateInput{Spec: spec, Cursor: step.Cursor})
	testkit.WantCode(t, err, sdk.NotFound, "the image "+spec.Image.Base)
	if left, _ := filepath.Glob(filepath.Join(b.Home, ".cache/seer/images/work/*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	ref := r.Python(t) // there again
	if _, _, err := b.create(imageSpec("seer-lost"+b.mark, ref)); err != nil {
		t.Error(err)
	}
}
