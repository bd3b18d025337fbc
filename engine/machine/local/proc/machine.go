package proc

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Machine is what is known of a machine's processes.
type Machine struct {
	Key        string
	Outer      Process // what was started: bwrap, runsc, or the command itself
	Inner      Process // process 1 inside, where it has a number here; zero if it is not known
	Contained  bool    // a namespace ends with its process 1
	NetProxied bool
	Cgroup     string // control group of version 2 that it has to itself; empty = none
}

// Processes lists what is left of a machine. Killing process 1 of a namespace takes
// everything in it along, whatever it did to its environment or parents.
func (m Machine) Processes() ([]Process, error) {
	left, err := Carriers(MachineCookie(m.Key))
	if err != nil {
		return nil, err
	}
	if m.NetProxied { // it may be there without being in the note yet
		proxies, err := Carriers(NetProxyCookie(m.Key))
		if err != nil {
			return nil, err
		}
		left = append(left, proxies...)
	}
	left = append(left, Living([]Process{m.Outer, m.Inner})...)
	if m.Contained {
		return left, nil
	}
	for _, root := range append([]Process(nil), left...) {
		children, err := Below(root.PID)
		if err != nil {
			return nil, err
		}
		left = append(left, children...)
	}
	return left, nil
}

// Kill kills every process of the machine, and those that were known before, until ctx
// ends. It reports whether none is left.
func (m Machine) Kill(ctx context.Context, known []Process) (gone bool, err error) {
	if m.Cgroup != "" {
		_ = os.WriteFile(filepath.Join(m.Cgroup, "cgroup.kill"), []byte("1"), 0) // Linux 5.14; the loop looks
	}
	for {
		left, err := m.Processes()
		left = append(left, Living(known)...)
		for _, victim := range left {
			if serr := Signal(victim, syscall.SIGKILL); serr != nil {
				err = serr
			}
		}
		if err == nil && len(left) == 0 {
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, err
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Inner finds process 1 of a machine in bubblewrap by what bwrap has told in the file
// status. Its start time is kept in the file beside once it was seen to be the right one.
func Inner(status, beside, key string) (p Process, ended, ok bool) {
	var said struct {
		ChildPID int  `json:"child-pid"`
		ExitCode *int `json:"exit-code"`
	}
	if err := readDocuments(status, &said); err != nil || said.ChildPID == 0 {
		return p, false, false
	}
	if data, err := os.ReadFile(beside); err == nil && json.Unmarshal(data, &p) == nil && p.PID == said.ChildPID {
		return p, false, true
	}
	start, ok := StartOf(said.ChildPID)
	if !ok || !Carries(said.ChildPID, MachineCookie(key)) {
		return Process{PID: said.ChildPID}, true, said.ExitCode != nil
	}
	p = Process{PID: said.ChildPID, Start: start}
	if data, err := json.Marshal(p); err == nil {
		_ = os.WriteFile(beside, data, 0o600) // only spares the next look
	}
	return p, false, true
}

// readDocuments reads JSON documents one over the other; the last may not be complete yet.
func readDocuments(path string, v any) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read what bwrap has told: %w", err)
	}
	defer f.Close()
	d := json.NewDecoder(f)
	for err == nil {
		err = d.Decode(v)
	}
	return nil
}
