package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local/proc"
	"github.com/seer-engine/seer/engine/machine/local/watchdog"
	"github.com/seer-engine/seer/sdk"
)

// Limits is what the provider of this computer's machines knows of their limits.
type Limits interface {
	// MemoryFull is whether processes of a machine were killed because its memory was full.
	MemoryFull(handle string) bool
}

func (p *provider) MemoryFull(handle string) bool {
	if !validHandle(handle) {
		return false
	}
	n, err := p.folder(handle).read()
	return err == nil && n != nil && n.Limits.Full()
}

// Observe looks at processes and sockets. It mends what a machine is reached by and what
// ends it, and changes nothing else: the short name of its socket, its network proxy, a parking that
// nobody ends, and the watchdog.
func (p *provider) Observe(ctx context.Context, handles []string) ([]sdk.Observation, error) {
	out := make([]sdk.Observation, 0, len(handles))
	for _, h := range handles {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out = append(out, p.observe(ctx, h))
	}
	if !slices.ContainsFunc(out, func(o sdk.Observation) bool { return o.State.Live() }) {
		return out, nil
	}
	if err := p.watchdog.mend(); err != nil { // the machines run, and that is what was asked
		p.Logger.Warn("nothing outside ends the machines of this computer in time", "error", err)
	}
	return out, nil
}

func (p *provider) observe(ctx context.Context, handle string) sdk.Observation {
	o := sdk.Observation{Handle: handle, State: sdk.Stopped}
	if !validHandle(handle) {
		return o
	}
	f := p.folder(handle)
	n, err := f.read()
	switch {
	case err != nil:
		// Not stopped: somebody would forget a machine that may run.
		o.State, o.Message = sdk.Starting, err.Error()
		return o
	case n == nil:
		return o
	}
	o.Isolation = n.Isolation
	if err := n.elsewhere(); err != nil {
		o.State, o.Message = sdk.Unreachable, err.Error()
		return o
	}
	if !f.lives(n) {
		o.State, o.Message = ended(f)
		if why, err := os.ReadFile(f.path(watchdog.EndedName)); err == nil {
			o.State, o.Message = sdk.Stopped, "it was ended from outside: "+string(why)
		}
		if o.State == sdk.Failed && n.Isolation != isolation.None {
			p.trials.forget(n.Isolation) // the reason may be that it no longer works here
		}
		if o.State == sdk.Failed && n.Limits.Full() {
			o.Message = "processes of it were killed as its memory was full; " + o.Message
		}
		return o
	}
	o.State, err = f.reach(n.Parked)
	if o.State != sdk.Running && err == nil && n.Parked != nil && !n.Parked.Copy {
		o.State, err = unpark(ctx, f, n.Parked, func(s *saving) (bool, error) { return p.tellGone(handle, s) })
	}
	if o.State != sdk.Running {
		if err != nil {
			o.Message = err.Error()
		}
		return o
	}
	o.Endpoints = []sdk.Endpoint{{Port: n.Port, URL: "unix:" + f.socket()}}
	ports, err := p.ports(ctx, handle, f, n)
	if err != nil {
		o.Message = "its ports and hosts cannot be reached: " + err.Error()
	}
	o.Endpoints = append(o.Endpoints, ports...)
	return o
}

// ports says where the machine's ports are. A network proxy that has died is started again.
func (p *provider) ports(ctx context.Context, handle string, f folder, n *note) ([]sdk.Endpoint, error) {
	var out []sdk.Endpoint
	add := func(port, outside int) {
		out = append(out, sdk.Endpoint{Port: port, URL: fmt.Sprintf("http://127.0.0.1:%d", outside)})
	}
	if n.NetProxy == nil {
		for _, port := range n.Ports {
			add(port, port)
		}
		return out, nil
	}
	if !alive(n.NetProxy.Process) {
		if err := p.mendProxy(ctx, handle, f); err != nil {
			return nil, err
		}
		if again, err := f.read(); err == nil && again != nil && again.NetProxy != nil {
			n = again
		}
	}
	for _, port := range n.NetProxy.Ports {
		add(port.Port, port.Outside)
	}
	return out, nil
}

// reach is Running when the machine answers at its address.
func (f folder) reach(parked *parkNote) (sdk.State, error) {
	if err := f.link(); err != nil {
		return sdk.Starting, err
	}
	if ok, err := f.adopt(parked); !ok || !answers(f.socket()) {
		return sdk.Starting, err
	}
	return sdk.Running, nil
}

// lives reports whether the machine's program runs. With bubblewrap that is
// process 1 inside: bwrap itself only waits for it, and may have been killed.
func (f folder) lives(n *note) bool {
	if n.Isolation == isolation.None {
		return alive(n.Outer)
	}
	if inner, ok := f.inner(n.Key); ok {
		return alive(inner)
	}
	if alive(n.Outer) {
		return true
	}
	// Created by a program that died in the middle, or bwrap died at once.
	found, err := carriers(machineCookie(n.Key))
	return err != nil || len(found) > 0
}

// inner finds process 1 of the machine by what bwrap has told.
func (f folder) inner(key string) (process, bool) {
	p, _, ok := proc.Inner(f.path("status"), f.path("inner"), key)
	return p, ok
}

// bwrapStatus is what bwrap has reported so far.
type bwrapStatus struct {
	ChildPID int  `json:"child-pid"`
	ExitCode *int `json:"exit-code"`
}

func (f folder) status() (bwrapStatus, error) {
	var s bwrapStatus
	data, err := os.ReadFile(f.path("status"))
	if err != nil {
		return s, err
	}
	return parseStatus(data), nil
}

func parseStatus(data []byte) (s bwrapStatus) {
	d := json.NewDecoder(bytes.NewReader(data))
	for {
		if err := d.Decode(&s); err != nil {
			return s // the end, or a document that is not complete yet
		}
	}
}

// ended says how a machine ended, as far as that can be known.
func ended(f folder) (sdk.State, string) {
	code := -1
	if s, err := f.status(); err == nil && s.ExitCode != nil {
		code = *s.ExitCode
	}
	if code == 0 {
		return sdk.Stopped, "it ended by itself"
	}
	message := "it ended unexpectedly"
	if code > 0 {
		message = fmt.Sprintf("it ended with exit code %d", code)
	}
	if line := lastLine(f.path("log")); line != "" {
		message += ": " + line
	}
	return sdk.Failed, message
}

const tail = 4096

func lastLine(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > tail {
		_, _ = file.Seek(-tail, io.SeekEnd)
	}
	data, _ := io.ReadAll(io.LimitReader(file, tail))
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	for n := len(lines) - 1; n >= 0; n-- {
		if !strings.HasPrefix(lines[n], "netproxy: ") { // which is no reason to end
			return strings.TrimSpace(lines[n])
		}
	}
	return ""
}

// answers reports whether somebody accepts at the socket. A full queue is an
// answer too.
func answers(socket string) bool {
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err != nil {
		return errors.Is(err, syscall.EAGAIN)
	}
	_ = conn.Close()
	return true
}

// List finds the owner's machines by their folders, whatever became of them.
func (p *provider) List(ctx context.Context, owner string) ([]sdk.Listed, error) {
	entries, err := os.ReadDir(p.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the machines: %w", err)
	}
	var out []sdk.Listed
	for _, entry := range entries {
		handle, isNote := strings.CutSuffix(entry.Name(), ".json")
		if !isNote || !validHandle(handle) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := p.folder(handle).read()
		if err != nil || n == nil || n.Owner != owner {
			continue
		}
		listed := sdk.Listed{Handle: handle, Key: n.Key, Owner: n.Owner, State: p.observe(ctx, handle).State}
		switch {
		case n.Spec != nil:
			listed.EndUnix = n.Spec.EndUnix
		case n.EndUnix > 0:
			listed.EndUnix = n.EndUnix - p.ahead()
		}
		out = append(out, listed)
	}
	return out, nil
}
