package isolation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/seer-engine/seer/sdk"
)

// running is what is written down for those who reach a sandbox from outside.
type running struct {
	Runsc    string `json:"runsc"`
	Writable bool   `json:"writable"`
}

const stateNote = "sandbox.json"

func (g *gvisor) note() error {
	data, err := json.Marshal(running{Runsc: g.runsc, Writable: g.spec.Root.Writable})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(g.state, stateNote), data, 0o600)
}

// layers makes one tar file of the layers, with which gVisor fills what can be
// changed.
func (g *gvisor) layers() error {
	if len(g.spec.Root.Layers) == 0 || g.spec.RestoreFrom != "" { // saved processes have their tree with them
		return nil
	}
	file := filepath.Join(g.state, stateLayer)
	f, err := os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = merge(f, g.spec.Root.Layers)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	g.oci.Annotations = map[string]string{"dev.gvisor.tar.rootfs.upper": file}
	return nil
}

func open(state string) (running, error) {
	var r running
	data, err := os.ReadFile(filepath.Join(state, stateNote))
	if errors.Is(err, fs.ErrNotExist) {
		return r, sdk.Errorf(sdk.NotFound, "no gVisor sandbox has its state in %s", state)
	}
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(data, &r)
}

// runsc runs a command of runsc on the sandbox of a state. It has extra as file 3.
func runsc(ctx context.Context, state string, r running, extra *os.File, args ...string) error {
	cmd := exec.CommandContext(ctx, r.Runsc, append([]string{"--root=" + stateRun, "--ignore-cgroups"}, args...)...)
	var said bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stderr = state, []string{}, &said
	if extra != nil {
		cmd.ExtraFiles = []*os.File{extra}
	}
	err := cmd.Run()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	text, _, _ := strings.Cut(said.String(), "\ngoroutine ") // where in runsc it happened is of no use here
	lines := strings.Split(strings.Trim(text, " \n:"), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return fmt.Errorf("runsc %s: %s", args[0], last)
	}
	return err
}

func saveRoot(ctx context.Context, state string, w io.Writer) error {
	r, err := open(state)
	if err != nil {
		return err
	}
	if !r.Writable {
		return sdk.Errorf(sdk.Invalid, "the tree of this sandbox cannot be changed, so there is nothing to save")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	done := make(chan error, 1)
	go func() {
		// Its standard output has messages for people, too.
		err := runsc(ctx, state, r, write, "tar", "rootfs-upper", "-file=/proc/self/fd/3", sandboxID)
		_ = write.Close()
		done <- err
	}()
	err = saveLayer(w, read)
	if err == nil {
		_, err = io.Copy(io.Discard, read) // what pads the end
	} else {
		cancel()
	}
	if ran := <-done; ran != nil && !errors.Is(ran, context.Canceled) {
		err = ran // the reason why what was read is not whole
	}
	if err != nil {
		return fmt.Errorf("save the tree of the sandbox: %w", err)
	}
	return nil
}

func checkpoint(ctx context.Context, state, dir string, leaveRunning bool) error {
	r, err := open(state)
	if err != nil {
		return err
	}
	if err := checkAbs("the folder for the saved processes", dir); err != nil {
		return err
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		return sdk.Errorf(sdk.Invalid, "the folder for the saved processes %s must exist and be empty", dir)
	}
	args := []string{"checkpoint", "-image-path=" + dir, "-compression=none", "-exclude-committed-zero-pages"}
	if leaveRunning {
		args = append(args, "-leave-running")
	}
	if err = runsc(ctx, state, r, nil, append(args, sandboxID)...); err == nil {
		return nil
	}
	for _, name := range []string{"checkpoint.img", "pages.img", "pages_meta.img"} { // half a checkpoint is none
		_ = os.Remove(filepath.Join(dir, name))
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case strings.Contains(err.Error(), syscall.ENOSPC.Error()): // and a dump of what was to be written
		return fmt.Errorf("save the processes of the sandbox: %w", syscall.ENOSPC)
	case strings.Contains(err.Error(), "socket"):
		return sdk.Errorf(sdk.Unavailable, "the processes cannot be saved while a socket is open that leads outside: %v", err)
	}
	return fmt.Errorf("save the processes of the sandbox: %w", err)
}

func askToEnd(ctx context.Context, state string) error {
	r, err := open(state)
	if err != nil {
		return err
	}
	return runsc(ctx, state, r, nil, "kill", "-all", sandboxID, "TERM")
}
