package seccomp

import (
	"encoding/binary"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// decide runs a program on a system call. The interpreter reads words in network order.
func decide(t *testing.T, p Program, auditArch, nr uint32, args ...uint64) action {
	t.Helper()
	instructions, ok := bpf.Disassemble(p)
	if !ok {
		t.Fatal("the program cannot be read")
	}
	vm, err := bpf.NewVM(instructions)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[atNumber:], nr)
	binary.BigEndian.PutUint32(data[atArch:], auditArch)
	for i, arg := range args {
		binary.BigEndian.PutUint32(data[atArguments+8*i:], uint32(arg))
		binary.BigEndian.PutUint32(data[atArguments+8*i+4:], uint32(arg>>32))
	}
	got, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return action(uint32(got))
}

// compiled is the filter of confined programs.
func compiled(t *testing.T, info *arch.Info) Program {
	t.Helper()
	r, err := confined(info, false)
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.compile(refuse(unix.EPERM))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestOtherInterfaces: the numbers of x32 and of 32-bit programs mean other system calls.
func TestOtherInterfaces(t *testing.T) {
	for _, info := range []*arch.Info{arch.X86_64, arch.AARCH64} {
		p := compiled(t, info)
		native := uint32(info.ID)
		read := uint32(info.SyscallNames["read"])
		for what, c := range map[string]struct{ got, want action }{
			"read":            {decide(t, p, native, read), allow},
			"read of x32":     {decide(t, p, native, read|x32), refuse(unix.ENOSYS)},
			"read of i386":    {decide(t, p, uint32(arch.I386.ID), 3), refuse(unix.EPERM)},
			"an unknown one":  {decide(t, p, native, 9999), refuse(unix.EPERM)},
			"negative number": {decide(t, p, native, 0xffffffff), refuse(unix.ENOSYS)},
		} {
			if c.got != c.want {
				t.Errorf("%s, %s: %#x, not %#x", info.Name, what, c.got, c.want)
			}
		}
	}
}

// TestEveryModeIsFiltered walks through all system calls of both architectures: with a
// setuid bit in each argument, none that takes a mode is allowed.
func TestEveryModeIsFiltered(t *testing.T) {
	for _, info := range []*arch.Info{arch.X86_64, arch.AARCH64} {
		p := compiled(t, info)
		bad := uint64(unix.S_ISUID | unix.O_CREAT)
		for _, name := range append(modeNames(), "open", "openat") {
			nr, ok := info.SyscallNames[name]
			if !ok {
				continue // an older interface that the architecture never had
			}
			for _, high := range []uint64{0, 1 << 40} {
				arg := bad | high
				if got := decide(t, p, uint32(info.ID), uint32(nr), arg, arg, arg, arg, arg, arg); got != refuse(unix.EPERM) {
					t.Errorf("%s, %s: %#x", info.Name, name, got)
				}
			}
			if got := decide(t, p, uint32(info.ID), uint32(nr), 0o755, 0o755, 0o755, 0o755); got != allow {
				t.Errorf("%s, %s with a plain mode: %#x", info.Name, name, got)
			}
		}
	}
}

func TestArguments(t *testing.T) {
	const newUser = unix.CLONE_NEWUSER
	cases := []struct {
		name   string
		nested bool
		want   action
		args   []uint64
	}{
		{"socket", false, allow, []uint64{unix.AF_INET6, unix.SOCK_STREAM}},
		{"socket", false, allow, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}},
		{"socket", false, refuse(unix.EAFNOSUPPORT), []uint64{unix.AF_NETLINK, unix.SOCK_RAW, 12}},
		{"socket", false, refuse(unix.EAFNOSUPPORT), []uint64{unix.AF_VSOCK}},
		{"socket", false, refuse(unix.EAFNOSUPPORT), []uint64{unix.AF_VSOCK | 1<<32}},
		{"socketpair", false, refuse(unix.EAFNOSUPPORT), []uint64{30}},
		{"ioctl", false, allow, []uint64{0, 0x5401}},
		{"ioctl", false, refuse(unix.EPERM), []uint64{0, tiocsti | 1<<33}},
		{"ioctl", false, refuse(unix.EPERM), []uint64{0, tioclinx}},
		{"clone", false, allow, []uint64{unix.CLONE_VM | unix.CLONE_THREAD}},
		{"clone", false, refuse(unix.EPERM), []uint64{newUser}},
		{"clone", true, allow, []uint64{newUser}},
		{"clone3", true, refuse(unix.ENOSYS), nil},
		{"unshare", false, refuse(unix.EPERM), []uint64{newUser}},
		{"setns", false, refuse(unix.EPERM), nil},
		{"mount", false, refuse(unix.EPERM), nil},
		{"bpf", true, refuse(unix.EPERM), nil},
		{"perf_event_open", true, refuse(unix.EPERM), nil},
		{"userfaultfd", true, refuse(unix.EPERM), nil},
		{"keyctl", true, refuse(unix.EPERM), nil},
		{"io_uring_setup", true, refuse(unix.ENOSYS), nil},
		{"openat2", true, refuse(unix.ENOSYS), nil},
		{"setxattr", false, refuse(unix.EOPNOTSUPP), nil},
		{"fremovexattr", false, refuse(unix.EOPNOTSUPP), nil},
		{"getxattr", false, allow, nil},
		{"setxattr", true, refuse(unix.EOPNOTSUPP), nil},
		{"ptrace", false, allow, nil},
		{"personality", false, allow, []uint64{0xffffffff}},
		{"personality", false, refuse(unix.EPERM), []uint64{0x0400000}},
	}
	for _, c := range cases {
		r, err := confined(arch.X86_64, c.nested)
		if err != nil {
			t.Fatal(err)
		}
		p, err := r.compile(refuse(unix.EPERM))
		if err != nil {
			t.Fatal(err)
		}
		if got := decide(t, p, uint32(arch.X86_64.ID), uint32(arch.X86_64.SyscallNames[c.name]), c.args...); got != c.want {
			t.Errorf("%s %#x, nested %v: %#x, not %#x", c.name, c.args, c.nested, got, c.want)
		}
	}
}
