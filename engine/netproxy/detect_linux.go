package netproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// DetectUplink finds the tool that connects namespaces on this computer, by a trial of
// each. The error is a [NoUplink] unless ctx has ended.
func DetectUplink(ctx context.Context) (tool string, err error) {
	var reasons NoUplink
	for _, tool := range []string{pasta, slirp} {
		err := tryUplink(ctx, tool)
		if err == nil {
			return tool, nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if len(reasons) == 0 || reasons[len(reasons)-1].Error() != err.Error() {
			reasons = append(reasons, err)
		}
	}
	return "", reasons
}

const tunDevice = "/dev/net/tun"

// UplinkTools identifies the installed programs that a tool's trial has used; empty where
// one is missing.
func UplinkTools(tool string) string {
	var all []string
	for _, name := range []string{tool, "nft", "nsenter"} {
		path, err := toolPath(name)
		if err != nil {
			return ""
		}
		info, err := os.Stat(path)
		if err != nil {
			return ""
		}
		all = append(all, fmt.Sprintf("%s %d %d", path, info.Size(), info.ModTime().UnixNano()))
	}
	return strings.Join(all, " ")
}

// tryUplink connects a namespace in which nothing is.
func tryUplink(ctx context.Context, tool string) error {
	for _, name := range []string{tool, "nft", "nsenter", "unshare"} {
		if _, err := toolPath(name); err != nil {
			return err
		}
	}
	if tun, err := os.OpenFile(tunDevice, os.O_RDWR, 0); err != nil {
		return fmt.Errorf("%w; as root, run: chmod 0666 %s", err, tunDevice)
	} else if err := tun.Close(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, uplinkLimit)
	defer cancel()
	holder, u, err := emptyNamespace(ctx, tool)
	if holder != nil {
		defer func() { _, _ = holder.Process.Kill(), holder.Wait() }()
	}
	if err != nil {
		return err
	}
	defer u.close()
	turn, stop := context.WithCancel(ctx)
	defer stop()
	connected := false
	err = u.connect(turn, func() { connected = true; stop() })
	if connected {
		return nil
	}
	return err
}

// emptyNamespace makes a namespace as that of a sandbox, and a process that holds it.
func emptyNamespace(ctx context.Context, tool string) (*exec.Cmd, *uplink, error) {
	unshare, err := toolPath("unshare")
	if err != nil {
		return nil, nil, err
	}
	cat, err := toolPath("cat")
	if err != nil {
		return nil, nil, err
	}
	holder := exec.CommandContext(ctx, unshare, "--user", "--map-root-user", "--net", "--", cat)
	if _, err := holder.StdinPipe(); err != nil {
		return nil, nil, err
	}
	said := &strings.Builder{}
	holder.Stderr, holder.WaitDelay = said, time.Second
	if err := holder.Start(); err != nil {
		return nil, nil, err
	}
	for {
		namespace, err := NamespaceOf(holder.Process.Pid)
		if err == nil {
			u, err := newUplink(namespace, holder.Process.Pid, tool, io.Discard)
			if err != nil {
				_ = namespace.Close()
			}
			return holder, u, err
		}
		if ctx.Err() != nil || !running(holder.Process.Pid) {
			return holder, nil, fmt.Errorf("make a network namespace: %w: %s", err, lastLine(said.String()))
		}
		time.Sleep(time.Millisecond)
	}
}

// NamespaceOf opens the network namespace of a process that has one of its own and whose
// users are settled. The error is temporary while the process is made.
func NamespaceOf(pid int) (*os.File, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return nil, err
	}
	its, err := f.Stat()
	mine, errMine := os.Stat("/proc/self/ns/net")
	users, errUsers := os.ReadFile(fmt.Sprintf("/proc/%d/uid_map", pid))
	err = errors.Join(err, errMine, errUsers)
	switch {
	case err != nil:
	case os.SameFile(its, mine):
		err = errors.New("it shares the network of this computer")
	case len(users) == 0:
		err = errors.New("it has no users yet")
	default:
		return f, nil
	}
	_ = f.Close()
	return nil, err
}

func running(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(data), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}
