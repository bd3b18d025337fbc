package seccomp

import (
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

const (
	setID    = unix.S_ISUID | unix.S_ISGID
	creating = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
	tiocsti  = 0x5412 // types into a terminal
	tioclinx = 0x541c // pastes into a console
)

// modes are the system calls that set the mode of a file, and the argument that has it.
var modes = [...]struct {
	name     string
	argument uint32
}{
	{"chmod", 1}, {"fchmod", 1}, {"fchmodat", 2}, {"fchmodat2", 2}, {"creat", 1},
	{"mkdir", 1}, {"mkdirat", 2}, {"mknod", 1}, {"mknodat", 2}, {"mq_open", 2},
}

// plainModes refuses setuid and setgid bits in each system call that can set them.
func (r *rules) plainModes() {
	eperm := refuse(unix.EPERM)
	r.add(eperm, "openat", condition{2, lowAnyOf, creating}, condition{3, lowAnyOf, setID})
	r.add(eperm, "open", condition{1, lowAnyOf, creating}, condition{2, lowAnyOf, setID})
	for _, call := range modes {
		r.add(eperm, call.name, condition{call.argument, lowAnyOf, setID})
	}
}

// behindPointers are system calls whose arguments a filter cannot see. Programs go on
// with others where the kernel lacks them.
var behindPointers = [...]string{"io_uring_setup", "io_uring_enter", "io_uring_register"}

var keys = [...]string{"keyctl", "add_key", "request_key"}

// gvisor refuses what reaches this computer in the name of a confined command. openat2
// stays: gVisor's file server opens folders with it, and chooses all arguments itself.
func gvisor(info *arch.Info) *rules {
	r := newRules(info)
	r.plainModes()
	r.names(refuse(unix.ENOSYS), behindPointers[:]...)
	r.names(refuse(unix.EPERM), keys[:]...)
	for _, call := range append([]string{"openat", "open"}, modeNames()...) {
		r.add(allow, call)
	}
	return r
}

func modeNames() []string {
	var out []string
	for _, call := range modes {
		out = append(out, call.name)
	}
	return out
}

// confined is the allow-list.
func confined(info *arch.Info, nested bool) (*rules, error) {
	r := newRules(info)
	r.plainModes()
	r.names(refuse(unix.ENOSYS), "openat2", "clone3")
	r.names(refuse(unix.ENOSYS), behindPointers[:]...)
	r.names(refuse(unix.EPERM), keys[:]...)
	// They could open files to others by access control lists, which chmod and umask do
	// not show, and give them capabilities in a user namespace of one's own.
	r.names(refuse(unix.EOPNOTSUPP), "setxattr", "lsetxattr", "fsetxattr", "setxattrat",
		"removexattr", "lremovexattr", "fremovexattr", "removexattrat")
	if nested {
		r.nested()
	}
	// The kernel reads 32 bits of the request.
	r.add(refuse(unix.EPERM), "ioctl", condition{1, lowEqual, tiocsti})
	r.add(refuse(unix.EPERM), "ioctl", condition{1, lowEqual, tioclinx})
	r.sockets()
	return r, r.base()
}

// nested lets programs make sandboxes of their own.
func (r *rules) nested() {
	r.names(allow, "clone", "unshare", "setns", "mount", "umount2", "mount_setattr", "move_mount", "open_tree",
		"fsopen", "fsconfig", "fsmount", "pivot_root", "chroot", "sethostname")
}

// sockets allows Unix sockets, the internet, and of netlink what lists interfaces.
func (r *rules) sockets() {
	for _, family := range []uint64{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6} {
		r.add(allow, "socket", condition{0, equal, family})
	}
	r.add(allow, "socket", condition{0, equal, unix.AF_NETLINK}, condition{2, equal, unix.NETLINK_ROUTE})
	r.add(allow, "socketpair", condition{0, equal, unix.AF_UNIX})
	r.names(refuse(unix.EAFNOSUPPORT), "socket", "socketpair")
}
