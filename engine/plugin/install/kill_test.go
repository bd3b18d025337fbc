package install

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/engine/plugin/store"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/testplugin"
)

const killVariable = "SEER_TEST_INSTALL"

// update is an installation of version 1.1.0 that does step n no more. It tells whether it
// was done before.
func (w *world) update(n int, stop func() error) error {
	steps := 0
	other := Installer{Source: w.shelf, Store: w.open(func(string) error {
		if steps++; steps == n {
			return stop()
		}
		return nil
	})}
	p, err := other.Plan(context.Background(), Request{Ref: ref, LockDir: w.project})
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = other.Apply(context.Background(), p, Consent{Hash: p.Hash, By: "you"})
	return err
}

// old is a world in which version 1.0.0 is installed and locked.
func old(t *testing.T) *world {
	w := newWorld(t)
	w.locked(ref, testplugin.Tiny(t, "1.0.0", "/m"))
	w.shelf.bundles[ref] = testplugin.Tiny(t, "1.1.0", "/m", "/n")
	return w
}

// whole checks that what holds is all of the old version or all of the new one, in the
// store as in the lock, and that the installation can be done again.
func (w *world) whole(when string) {
	w.t.Helper()
	version, lines := w.runs()
	if version != "1.0.0" && version != "1.1.0" || len(lines) != map[string]int{"1.0.0": 1, "1.1.0": 2}[version] {
		w.t.Errorf("%s: runs %q with %q", when, version, lines)
	}
	if locked := w.use(); locked != "1.0.0" && locked != version {
		w.t.Errorf("%s: runs %q, and %q by the lock", when, version, locked)
	}
	if _, errs := w.Store.List(); len(errs) > 0 {
		w.t.Errorf("%s: %v", when, errs)
	}
	if err := w.update(0, nil); err != nil {
		w.t.Errorf("%s, then again: %v", when, err)
	}
	if version, _ := w.runs(); version != "1.1.0" || w.use() != "1.1.0" {
		w.t.Errorf("%s, then again: runs %q, and %q by the lock", when, version, w.use())
	}
	left, err := filepath.Glob(filepath.Join(w.data, "store", ".*"))
	if err != nil || len(left) > 0 {
		w.t.Errorf("%s, then again: left %v, %v", when, left, err)
	}
}

// TestKilledInstallation runs itself, and kills that process before each step.
func TestKilledInstallation(t *testing.T) {
	if dir := os.Getenv(killVariable); dir != "" {
		n, err := strconv.Atoi(os.Getenv(killVariable + "_STEP"))
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, data: dir + "/data", state: dir + "/state", config: dir + "/config.yaml", project: dir + "/project",
			shelf: &shelf{bundles: map[string]bundle.Bundle{ref: testplugin.Tiny(t, "1.1.0", "/m", "/n")}}}
		if err := w.update(n, func() error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) }); err != nil {
			t.Fatal(err)
		}
		return
	}
	for n := 1; ; n++ {
		w := old(t)
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledInstallation$")
		cmd.Env = append(os.Environ(), killVariable+"="+filepath.Dir(w.data), killVariable+"_STEP="+strconv.Itoa(n))
		out, err := cmd.CombinedOutput()
		w.whole("killed before step " + strconv.Itoa(n))
		if err == nil {
			if n < 7 {
				t.Errorf("only %d steps", n)
			}
			return
		}
		if !bytes.Equal(out, nil) {
			t.Fatalf("step %d: %v\n%s", n, err, out)
		}
	}
}

func TestEveryStepMayFail(t *testing.T) {
	broken := errors.New("the disk broke")
	for n := 1; ; n++ {
		w := old(t)
		err := w.update(n, func() error { return broken })
		w.whole("failed at step " + strconv.Itoa(n))
		if err == nil {
			return
		}
		if !errors.Is(err, broken) {
			t.Errorf("step %d: %v", n, err)
		}
	}
}

func TestFullDisk(t *testing.T) {
	if os.Getenv(killVariable) == "full" {
		fullDisk(t)
		return
	}
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		t.Fatal("bubblewrap is needed for this test: apt-get install bubblewrap")
	}
	tmp := t.TempDir()
	cmd := exec.Command(bwrap, "--unshare-user", "--ro-bind", "/", "/", "--bind", tmp, tmp, "--setenv", "TMPDIR", tmp, "--size", "262144", "--tmpfs", "/mnt", "--dev", "/dev",
		"--setenv", killVariable, "full", os.Args[0], "-test.run=^TestFullDisk$", "-test.v")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// fullDisk has 256 KiB at /mnt.
func fullDisk(t *testing.T) {
	w := newWorld(t)
	w.data, w.state = "/mnt/data", "/mnt/state"
	w.Store = w.open(nil)
	w.install(ref, testplugin.Tiny(t, "1.0.0", "/m"))
	big := testplugin.Tiny(t, "1.1.0", "/m")
	big.Wasm = append(big.Wasm, append([]byte{0, 0x84, 0x80, 0x40, 1, 'x'}, make([]byte, 0x100002)...)...) // a section of 1 MiB
	p := w.plan(ref, big)
	_, err := w.Apply(context.Background(), p, Consent{})
	var full *state.NoSpaceError
	if !errors.Is(err, state.ErrNoSpace) || !errors.As(err, &full) {
		t.Errorf("error %v", err)
	}
	if version, _ := w.runs(); version != "1.0.0" {
		t.Errorf("runs %q", version)
	}
	if _, err := w.Store.Lookup(p.Digest); !errors.As(err, new(*store.NotStoredError)) {
		t.Error(err)
	}
	if left, _ := filepath.Glob("/mnt/data/store/*"); len(left) != 1 {
		t.Errorf("left %v", left)
	}
}
