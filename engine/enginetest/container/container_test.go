package container_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/container"
	"github.com/seer-engine/seer/internal/testkit"
)

func begin(t *testing.T, script string) *container.Container {
	t.Helper()
	c, err := container.Start(t.TempDir(), container.Spec{Argv: []string{"sh", "-c", script}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	return c
}

// ready waits for the file by which a script says that it has come so far.
func ready(t *testing.T, c *container.Container) {
	t.Helper()
	testkit.EventuallyNil(t, "the script", func() error {
		_, err := os.Stat(c.Folder("/workspace/ready"))
		return err
	})
}

func wait(t *testing.T, c *container.Container) {
	t.Helper()
	select {
	case <-c.Done():
	case <-time.After(2 * time.Minute):
		t.Fatal("it does not end")
	}
}

func TestExit(t *testing.T) {
	c := begin(t, "exit 7")
	wait(t, c)
	if c.ExitCode() != 7 {
		t.Errorf("exit code %d", c.ExitCode())
	}
	if err := c.Restart(); err != nil {
		t.Fatal(err)
	}
	wait(t, c)
}

func TestNothingOutlivesAContainer(t *testing.T) {
	c := begin(t, "setsid sleep 1000 & touch ready; exec sleep 1000")
	ready(t, c)
	c.Freeze()
	c.Stop(50 * time.Millisecond)
	if c.ExitCode() != 137 && c.ExitCode() != 143 {
		t.Errorf("exit code %d", c.ExitCode())
	}
	out, _ := exec.Command("pgrep", "-f", "sleep 1000").Output()
	for _, pid := range bytes.Fields(out) {
		env, _ := os.ReadFile(filepath.Join("/proc", string(pid), "environ"))
		if bytes.Contains(env, []byte(c.Folder("/tmp"))) {
			t.Errorf("process %s is left", pid)
		}
	}
}

func TestSnapshot(t *testing.T) {
	c := begin(t, "mkdir d && echo hello > d/f")
	wait(t, c)
	dir := t.TempDir()
	if err := c.Snapshot(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	again, err := container.Start(dir, container.Spec{Argv: []string{"cmp", "d/f", c.Folder("/workspace/d/f")}})
	if err != nil {
		t.Fatal(err)
	}
	wait(t, again)
	if again.ExitCode() != 0 {
		t.Errorf("the file is not the same: %d", again.ExitCode())
	}
}

func TestExec(t *testing.T) {
	c := begin(t, "exec sleep 1000")
	var out bytes.Buffer
	cmd, err := c.Exec(container.Process{Argv: []string{"sh", "-c", "cat; echo $WHO; pwd"}, Env: map[string]string{"WHO": "me"},
		Dir: "/models", Stdin: bytes.NewBufferString("in\n"), Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if want := "in\nme\n" + c.Folder("/models") + "\n"; out.String() != want {
		t.Errorf("%q, not %q", out.String(), want)
	}
	if cmd, err = c.Exec(container.Process{Argv: []string{"sleep", "1000"}}); err != nil {
		t.Fatal(err)
	}
	c.Kill()
	if err := cmd.Wait(); err == nil {
		t.Error("it outlives the container")
	}
	if _, err := c.Exec(container.Process{Argv: []string{"true"}}); err == nil {
		t.Error("something starts in a dead container")
	}
}

func TestFolder(t *testing.T) {
	c, err := container.Start(t.TempDir(), container.Spec{Argv: []string{"true"}, Volumes: map[string]string{"/data": "/volume"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	for path, want := range map[string]string{"/data": "/volume", "/data/": "/volume", "/data/x": "/volume/x", "/data2/x": c.Folder("/") + "/data2/x"} {
		if got := c.Folder(path); got != want {
			t.Errorf("%s is %s, not %s", path, got, want)
		}
	}
}

func TestSnapshotOfABusyMachine(t *testing.T) {
	c := begin(t, "mkfifo pipe; ln -s pipe link; touch ready; while :; do echo x >new; mv new old; rm old; done")
	ready(t, c)
	for range 50 {
		dir := t.TempDir()
		if err := c.Snapshot(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		if link, err := os.Readlink(filepath.Join(dir, "workspace", "link")); err != nil || link != "pipe" {
			t.Fatal(link, err)
		}
	}
}
