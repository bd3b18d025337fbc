package proc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const zombie = 5 // SZOMB

func startText(k *unix.KinfoProc) string {
	t := k.Proc.P_starttime
	return fmt.Sprintf("%d.%06d", t.Sec, t.Usec)
}

// StartOf identifies the start of a living process; a zombie does not live.
func StartOf(pid int) (string, bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || k.Proc.P_pid != int32(pid) || k.Proc.P_stat == zombie {
		return "", false
	}
	return startText(k), true
}

// BootID is for what is remembered until the computer is started again: nothing here.
func BootID() string { return "" }

// Carries reports whether the environment of the process has exactly this entry.
func Carries(pid int, cookie string) bool {
	raw, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(raw) < 4 {
		return false // gone, or of somebody else
	}
	// argc, the path, padding, the arguments, the environment.
	argc := int(binary.LittleEndian.Uint32(raw))
	want := []byte(cookie)
	entries := bytes.Split(raw[4:], []byte{0})
	for i, entry := range entries {
		if i > argc && bytes.Equal(entry, want) {
			return true
		}
	}
	return false
}

// Name is the short name of a process's program; empty = it has gone.
func Name(pid int) string {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return ""
	}
	return unix.ByteSliceToString(k.Proc.P_comm[:])
}

func workingFolder(int) (string, error) { return "", errors.ErrUnsupported }

func scan(keep func(pid int, parents map[int]int) bool) ([]Process, error) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.uid", os.Geteuid())
	if err != nil {
		return nil, fmt.Errorf("look for the machine's processes: %w", err)
	}
	parents := map[int]int{}
	for i := range all {
		parents[int(all[i].Proc.P_pid)] = int(all[i].Eproc.Ppid)
	}
	var out []Process
	for i := range all {
		pid := int(all[i].Proc.P_pid)
		if all[i].Proc.P_stat != zombie && keep(pid, parents) {
			out = append(out, Process{PID: pid, Start: startText(&all[i])})
		}
	}
	return out, nil
}

// Signal sends a signal to the process if it is still the same.
func Signal(p Process, sig syscall.Signal) error {
	if !Alive(p) {
		return nil
	}
	if err := syscall.Kill(p.PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
