package isolation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/sdk"
)

// bubblewrapPlaces are tried in order. PATH is not asked: what confines others
// must not come from a folder that anybody can write to.
var bubblewrapPlaces = [...]string{"/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/wrappers/bin/bwrap", "/run/current-system/sw/bin/bwrap"}

const notInstalled = "bubblewrap is not installed; install it, as root: apt-get install bubblewrap"

func bubblewrapPath() (string, error) {
	for _, path := range bubblewrapPlaces {
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", remedy.For(sdk.Errorf(sdk.Unsupported, notInstalled), remedy.Remedy{Action: remedy.FixHost})
}

// detectBubblewrap runs a command that does nothing in the recipe that is really
// used: an installed bwrap may be too old or forbidden by the kernel. The error is
// that of a command that did not end, which says nothing about bubblewrap.
func detectBubblewrap(ctx context.Context) (found sdk.Isolation, undecided error) {
	found = sdk.Isolation{Name: Bubblewrap}
	cmd, err := Command(Bubblewrap, Spec{Argv: []string{"/usr/bin/true"}, PIDOne: true})
	if err != nil {
		found.Reason, found.Missing = err.Error(), remedy.Has(remedy.Of(err), remedy.FixHost)
		return found, nil
	}
	defer Release(cmd)
	if out, err := runFor(ctx, Bubblewrap, cmd, longestTry); err != nil {
		found.Reason = explain(out, err, readSysctl)
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			undecided = err
		}
		return found, undecided
	}
	found.Usable = true
	return found, nil
}

// longestTry is how long a command that does nothing may take, on a computer that is busy.
const longestTry = 2 * time.Minute

func runFor(ctx context.Context, kind string, cmd *exec.Cmd, limit time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, time.Second
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	if err := Thread(kind, cmd.Start); err != nil {
		return "", err
	}
	// The whole group: bwrap's child waits for it for ever when it alone is killed.
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer stop()
	err := cmd.Wait()
	if ctx.Err() != nil {
		err = fmt.Errorf("it did not end within %s: %w", limit, ctx.Err())
	}
	return strings.TrimSpace(out.String()), err
}

// explain turns the failure of bwrap into what the user can do about it. The
// switches are known by their values, not guessed from the message.
func explain(out string, err error, sysctl func(string) string) string {
	switch {
	case sysctl("kernel/unprivileged_userns_clone") == "0":
		return "user namespaces are switched off for ordinary users; run: sysctl -w kernel.unprivileged_userns_clone=1"
	case sysctl("user/max_user_namespaces") == "0":
		return "user namespaces are switched off; run: sysctl -w user.max_user_namespaces=15000"
	case sysctl("kernel/apparmor_restrict_unprivileged_userns") == "1":
		return "AppArmor forbids user namespaces to ordinary users; give bwrap an AppArmor profile that allows userns, or run: " +
			"sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
	case strings.Contains(out, "Unknown option"):
		return "the installed bubblewrap is too old (" + out + "); install version 0.5 or newer"
	case out != "":
		return "bubblewrap does not work here: " + out
	}
	return "bubblewrap does not work here: " + err.Error()
}

func readSysctl(name string) string {
	data, err := os.ReadFile("/proc/sys/" + name)
	if err != nil {
		return "" // a kernel without this switch
	}
	return strings.TrimSpace(string(data))
}
