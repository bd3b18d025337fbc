package seccomp

import (
	"fmt"

	profile "github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// base adds the default profile of containers, for a process without capabilities.
func (r *rules) base() error {
	config, err := profile.GetDefaultProfile(&specs.Spec{Process: &specs.Process{Capabilities: &specs.LinuxCapabilities{}}})
	if err != nil {
		return err
	}
	for _, call := range config.Syscalls {
		a, err := actionOf(call)
		if err != nil {
			return err
		}
		for _, name := range call.Names {
			if r.decided(name) {
				continue
			}
			conditions, err := conditionsOf(call)
			if err != nil {
				return err
			}
			r.add(a, name, conditions...)
		}
	}
	return nil
}

// decided reports whether no further clause for a system call counts.
func (r *rules) decided(name string) bool {
	have := r.clauses[uint32(r.info.SyscallNames[name])]
	return len(have) > 0 && len(have[len(have)-1].conditions) == 0
}

func actionOf(call specs.LinuxSyscall) (action, error) {
	switch {
	case call.Action == specs.ActAllow:
		return allow, nil
	case call.Action == specs.ActErrno && call.ErrnoRet != nil:
		return refuse(unix.Errno(*call.ErrnoRet)), nil
	case call.Action == specs.ActErrno:
		return refuse(unix.EPERM), nil
	}
	return 0, fmt.Errorf("%v: the action %s of the default profile is unknown", call.Names, call.Action)
}

func conditionsOf(call specs.LinuxSyscall) ([]condition, error) {
	var out []condition
	for _, arg := range call.Args {
		switch {
		case arg.Op == specs.OpEqualTo:
			out = append(out, condition{uint32(arg.Index), equal, arg.Value})
		case arg.Op == specs.OpMaskedEqual && arg.ValueTwo == 0:
			out = append(out, condition{uint32(arg.Index), noneOf, arg.Value})
		default:
			return nil, fmt.Errorf("%v: the comparison %s of the default profile is unknown", call.Names, arg.Op)
		}
	}
	return out, nil
}
