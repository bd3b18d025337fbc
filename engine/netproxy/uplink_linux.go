package netproxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	uplinkLimit = 10 * time.Second // for a tool to connect a namespace
	restartWait = 500 * time.Millisecond
)

// uplink connects one namespace.
type uplink struct {
	namespace *os.File
	owner     *os.File // the user namespace that has the rights over it; nil = this process's own
	pid       int
	tool      string
	log       io.Writer

	unfiltered bool                         // tests: without the filter
	addresses  func() ([]netip.Addr, error) // [ownAddresses]

	mu     sync.Mutex // one filter at a time
	known  []netip.Addr
	loaded bool // a filter, by this process
}

// newUplink takes the file.
func newUplink(namespace *os.File, pid int, tool string, log io.Writer) (*uplink, error) {
	u := &uplink{namespace: namespace, pid: pid, tool: tool, log: log, addresses: ownAddresses}
	fd, err := unix.IoctlRetInt(int(namespace.Fd()), unix.NS_GET_USERNS)
	if err != nil {
		return nil, fmt.Errorf("find the owner of the network namespace: %w", err)
	}
	unix.CloseOnExec(fd)
	owner := os.NewFile(uintptr(fd), "user namespace")
	var its, mine unix.Stat_t
	if err := errors.Join(unix.Fstat(fd, &its), unix.Stat("/proc/self/ns/user", &mine)); err != nil {
		return nil, errors.Join(err, owner.Close())
	}
	if its.Ino == mine.Ino {
		return u, owner.Close()
	}
	u.owner = owner
	return u, nil
}

func (u *uplink) close() {
	_ = u.namespace.Close()
	if u.owner != nil {
		_ = u.owner.Close()
	}
}

// command runs a program with the rights over the namespace: with net inside of it, and
// otherwise in this computer's network.
func (u *uplink) command(ctx context.Context, net bool, name string, args ...string) (*exec.Cmd, error) {
	enter, err := toolPath("nsenter")
	if err != nil {
		return nil, err
	}
	program, err := toolPath(name)
	if err != nil {
		return nil, err
	}
	words, files := []string{"--preserve-credentials"}, []*os.File{u.namespace}
	if net {
		words = append(words, "--net=/proc/self/fd/3")
	}
	if u.owner != nil {
		words, files = append(words, "--user=/proc/self/fd/4"), append(files, u.owner)
	}
	cmd := exec.CommandContext(ctx, enter, append(append(words, "--", program), args...)...)
	cmd.ExtraFiles = files
	return cmd, nil
}

// refresh loads the filter if the addresses of this computer have changed.
func (u *uplink) refresh(ctx context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	own, err := u.addresses()
	if err != nil {
		return fmt.Errorf("find the addresses of this computer: %w", err)
	}
	slices.SortFunc(own, netip.Addr.Compare)
	if u.unfiltered || u.known != nil && slices.Equal(own, u.known) {
		return nil
	}
	replace := u.loaded
	if !replace {
		// A network proxy that was started again finds the filter of the one before it.
		replace = u.load(ctx, own, false) != nil
	}
	if replace {
		if err := u.load(ctx, own, true); err != nil {
			return err
		}
	}
	u.known, u.loaded = own, true
	return nil
}

// load has nft load the filter.
func (u *uplink) load(ctx context.Context, own []netip.Addr, replace bool) error {
	cmd, err := u.command(ctx, true, "nft", "-f", "-")
	if err != nil {
		return err
	}
	cmd.Stdin = strings.NewReader(filter(own, replace))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("filter the sandbox's network: nft: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// connect filters, runs the tool and returns when it has ended. up is called once the
// namespace is connected. The filter comes first, and is there before anything else is.
func (u *uplink) connect(ctx context.Context, up func()) error {
	runtime.LockOSThread() // whose end would be that of the tool
	defer runtime.UnlockOSThread()
	if err := u.refresh(ctx); err != nil {
		return err
	}
	cmd, err := u.command(ctx, false, u.tool, arguments(u.tool)...)
	if err != nil {
		return err
	}
	var said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env, cmd.Dir = u.namespace, &said, &said, os.Environ(), "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	ready := make(chan bool, 1)
	go func() { ready <- u.await(ended) }()
	go func() {
		if <-ready {
			up()
		} else {
			_ = cmd.Process.Kill() // or it has ended
		}
	}()
	err = cmd.Wait()
	close(ended)
	if err == nil {
		err = errors.New("it ended")
	}
	return fmt.Errorf("%s: %w: %s", u.tool, err, lastLine(said.String()))
}

// await reports whether the namespace gets a way out before the tool ends.
func (u *uplink) await(ended <-chan struct{}) bool {
	limit := time.NewTimer(uplinkLimit)
	defer limit.Stop()
	for !u.routed() {
		select {
		case <-ended:
			return false
		case <-limit.C:
			return false
		case <-time.After(time.Millisecond):
		}
	}
	return true
}

// routed reports whether the namespace has a route by way of the tool.
func (u *uplink) routed() bool {
	for _, name := range []string{"route", "ipv6_route"} {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", u.pid, name))
		for line := range strings.Lines(string(data)) {
			words := strings.Fields(line)
			if name == "route" && len(words) > 2 && words[0] == device && words[1] == "00000000" ||
				name == "ipv6_route" && len(words) > 9 && words[9] == device && words[1] == "00" && strings.Trim(words[0], "0") == "" {
				return true
			}
		}
	}
	return false
}

// keep connects the namespace until ctx ends, again whenever the tool dies. tell hears of
// the first time: nil, or why it failed, which is the end.
func (u *uplink) keep(ctx context.Context, tell func(error)) {
	var once sync.Once
	up := func() { once.Do(func() { tell(nil) }) }
	watched, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		turn, stop := context.WithCancel(watched)
		go u.watch(turn, stop)
		err := u.connect(turn, up)
		stop()
		if ctx.Err() != nil {
			return
		}
		failed := false
		once.Do(func() { failed = true; tell(err) })
		if failed {
			return
		}
		_, _ = fmt.Fprintf(u.log, "netproxy: the sandbox's network was cut off and is connected again: %v\n", err)
		u.forget()
		select {
		case <-ctx.Done():
			return
		case <-time.After(restartWait):
		}
	}
}

// forget has the next [uplink.refresh] load the filter.
func (u *uplink) forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.known = nil
}

// watch loads the filter anew when addresses of this computer come and go. If that fails,
// it has the tool end: no network is better than one that reaches this computer.
func (u *uplink) watch(ctx context.Context, stop func()) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV6_IFADDR})
	}
	if err != nil {
		_, _ = fmt.Fprintf(u.log, "netproxy: watch the addresses of this computer: %v\n", err)
		stop()
		return
	}
	socket := os.NewFile(uintptr(fd), "netlink")
	defer socket.Close()
	defer context.AfterFunc(ctx, func() { _ = socket.Close() })()
	buffer := make([]byte, 1<<16)
	for {
		if err := u.refresh(ctx); err != nil {
			if ctx.Err() == nil {
				_, _ = fmt.Fprintf(u.log, "netproxy: %v\n", err)
				stop()
			}
			return
		}
		if _, err := socket.Read(buffer); err != nil && !errors.Is(err, unix.ENOBUFS) {
			return // closed
		}
	}
}

// toolPlaces are tried in order. PATH is not asked: what confines others must not come
// from a folder that anybody can write to.
var toolPlaces = [...]string{"/usr/bin", "/bin", "/usr/sbin", "/sbin", "/run/current-system/sw/bin"}

func toolPath(name string) (string, error) {
	for _, dir := range toolPlaces {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", &NotInstalled{name}
}

func lastLine(text string) string {
	last := ""
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "WARNING") {
			last = line
		}
	}
	return last
}
