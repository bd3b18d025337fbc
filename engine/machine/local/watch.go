package local

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/machine/local/watchdog"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// watchPatience is how long a watchdog may take to say that it is there.
const watchPatience = 20 * time.Second

// watcher starts the watchdog of this user's machines.
type watcher struct {
	dir  string   // of the provider
	argv []string // of the watchdog, without dir
	off  bool     // tests do without a watchdog
}

// watch starts the watchdog if none lives. The note of a machine
// is written before. ready waits until the watchdog is there.
func (w *watcher) watch() (ready func() error, err error) {
	if w.off {
		return func() error { return nil }, nil
	}
	if err := os.MkdirAll(filepath.Join(w.dir, "locks"), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the local provider: %w", err)
	}
	lock, held, err := state.TryAcquire(watchdog.Lock(w.dir))
	if err != nil {
		return nil, err
	}
	if held {
		return func() error { return nil }, nil
	}
	lock.Remove()
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	argv := append(w.argv[:len(w.argv):len(w.argv)], w.dir)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout = []string{"PATH=" + os.Getenv("PATH")}, "/", in // where nvidia-smi is
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		_ = out.Close()
		return nil, sdk.Errorf(sdk.Internal, "start the watchdog of this computer's sandboxes: %v; build it with make runtime, or say where it is with SEER_ARTIFACTS_DIR", err)
	}
	go func() { _ = cmd.Wait() }()
	return func() error {
		defer out.Close()
		_ = out.SetReadDeadline(time.Now().Add(watchPatience))
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			return sdk.Errorf(sdk.Internal, "the watchdog of this computer's sandboxes does not start: %v; see whether %s can be written to, and run it by hand: %s",
				err, w.dir, strings.Join(argv, " "))
		}
		return nil
	}, nil
}

// mend starts a watchdog that was killed again.
func (w *watcher) mend() error {
	ready, err := w.watch()
	if err != nil {
		return err
	}
	return ready()
}
