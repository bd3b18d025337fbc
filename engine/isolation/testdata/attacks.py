"""Attacks by raw system calls, each named on the command line. Prints "done" if one
succeeds, or else the error that refused it."""

import ctypes
import errno
import os
import platform
import stat
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
AMD64 = platform.machine() == "x86_64"
# name: (amd64, arm64)
NUMBERS = {
    "open": (2, None), "chmod": (90, None), "fchmod": (91, 52), "creat": (85, None), "mkdir": (83, None), "mknod": (133, None),
    "openat": (257, 56), "mkdirat": (258, 34), "mknodat": (259, 33), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "openat2": (437, 437), "io_uring_setup": (425, 425), "add_key": (248, 217), "keyctl": (250, 219), "clone3": (435, 435),
}
CWD = -100
SETUID = 0o4755


def call(name, *args):
    number = NUMBERS[name][0 if AMD64 else 1]
    if number is None:
        raise OSError(errno.ENOSYS, "not on this architecture")
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    result = libc.syscall(ctypes.c_long(number), *wide)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def made(name="/w/f"):
    with open(name, "w") as f:
        f.write("x")
    return name


def special(path="/w/f", bits=stat.S_ISUID | stat.S_ISGID):
    """The attack succeeded only if the file has the bit now."""
    if not os.lstat(path).st_mode & bits:
        raise OSError(errno.EPERM, "the bit was dropped")


def chmod():
    call("chmod", made().encode(), SETUID)
    special()


def chmod_high_bits():
    call("chmod", made().encode(), SETUID | 1 << 40)
    special()


def setgid():
    call("chmod", made().encode(), 0o2755)
    special()


def setgid_directory():
    os.mkdir("/w/f")
    call("fchmodat", CWD, b"/w/f", 0o2777)
    special()


def fchmod():
    with open(made()) as f:
        call("fchmod", f.fileno(), SETUID)
    special()


def fchmodat():
    call("fchmodat", CWD, made().encode(), SETUID)
    special()


def fchmodat2():
    call("fchmodat2", CWD, made().encode(), SETUID, 0)
    special()


def open_():
    call("open", b"/w/f", os.O_CREAT | os.O_WRONLY, SETUID)
    special()


def openat():
    call("openat", CWD, b"/w/f", os.O_CREAT | os.O_WRONLY, SETUID)
    special()


def tmpfile():
    fd = call("openat", CWD, b"/w", os.O_TMPFILE | os.O_RDWR, SETUID)
    if libc.linkat(CWD, b"/proc/self/fd/%d" % fd, CWD, b"/w/f", 0x400) < 0:
        raise OSError(ctypes.get_errno(), "link")
    special()


def creat():
    call("creat", b"/w/f", SETUID)
    special()


def mknod():
    call("mknod", b"/w/f", stat.S_IFREG | SETUID, 0)
    special()


def mknodat():
    call("mknodat", CWD, b"/w/f", stat.S_IFREG | SETUID, 0)
    special()


def openat2():
    how = struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, SETUID, 0)
    call("openat2", CWD, b"/w/f", how, len(how))
    special()


def io_uring():
    call("io_uring_setup", 8, ctypes.create_string_buffer(256))


def int80():
    """chmod by the entry of 32-bit programs, whose numbers are others."""
    if not AMD64:
        raise OSError(errno.ENOSYS, "not on this architecture")
    import mmap

    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    page = libc.mmap(None, 4096, 7, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40, -1, 0)  # below 4 GiB
    path = made().encode() + b"\0"
    code = b"\x53\xb8" + struct.pack("<I", 15) + b"\xbb" + struct.pack("<I", page + 2048) + b"\xb9" + struct.pack("<I", SETUID) + b"\xcd\x80\x5b\xc3"
    ctypes.memmove(page, code, len(code))
    ctypes.memmove(page + 2048, path, len(path))
    result = ctypes.CFUNCTYPE(ctypes.c_int)(page)()
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    special()


def user_namespace():
    if libc.unshare(0x10000000) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def file_capability():
    """As root of a user namespace of one's own: CAP_SETUID for everybody who runs the file."""
    made()
    uid, gid = os.getuid(), os.getgid()
    user_namespace()
    for file, text in (("setgroups", "deny"), ("uid_map", "0 %d 1" % uid), ("gid_map", "0 %d 1" % gid)):
        with open("/proc/self/" + file, "w") as f:
            f.write(text)
    os.setxattr("/w/f", "security.capability", struct.pack("<IIIII", 0x02000001, 1 << 7, 0, 0, 0))


def own_capability():
    os.setxattr(made(), "security.capability", struct.pack("<IIIII", 0x02000001, 1 << 7, 0, 0, 0))


def acl():
    """A default access control list: whatever is made in the folder is everybody's."""
    os.mkdir("/w/f")
    entries = ((1, 7, -1), (4, 7, -1), (32, 7, -1))  # user, group, other: all rights
    text = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    os.setxattr("/w/f", "system.posix_acl_default", text)
    os.umask(0o077)
    os.close(os.open("/w/f/own", os.O_CREAT | os.O_WRONLY, 0o666))
    if os.stat("/w/f/own").st_mode & 0o777 != 0o666:
        raise OSError(errno.EINVAL, "the list changed nothing")


def proc_keys():
    with open("/proc/keys") as f:
        if "seer-test" not in f.read():
            raise OSError(errno.ENOENT, "no such key")


def overlay():
    """Copies a setuid program of root into a folder of this computer by an overlay."""
    uid, gid = os.getuid(), os.getgid()
    if libc.unshare(0x10020000):  # CLONE_NEWUSER | CLONE_NEWNS
        raise OSError(ctypes.get_errno(), "unshare")
    for file, text in (("setgroups", "deny"), ("uid_map", "0 %d 1" % uid), ("gid_map", "0 %d 1" % gid)):
        with open("/proc/self/" + file, "w") as f:
            f.write(text)
    for name in "uwm":
        os.mkdir("/w/" + name)
    options = b"lowerdir=/usr/bin,upperdir=/w/u,workdir=/w/w,userxattr"
    if libc.mount(b"overlay", b"/w/m", b"overlay", 0, options):
        raise OSError(ctypes.get_errno(), "mount")
    open("/w/m/su", "r+b").close()
    special("/w/u/su")


def keyring_read():
    key = call("keyctl", 10, -3, b"user", b"seer-test", 0)  # KEYCTL_SEARCH
    text = ctypes.create_string_buffer(99)
    call("keyctl", 11, key, text, 99)  # KEYCTL_READ
    if text.value != b"hush":
        raise OSError(errno.ENOKEY, text.value.decode())


def keyring_write():
    call("add_key", b"user", b"seer-test", b"changed", 7, -3)


def own_key():
    """With a keyring of one's own, or after the host's could be reached by another way."""
    call("add_key", b"user", b"seer-test", b"x", 1, -5)  # of the user's session


def vsock():
    import socket

    socket.socket(40, socket.SOCK_STREAM)


def packet():
    """Needs a user and a network namespace of one's own."""
    import socket

    uid = os.getuid()
    if libc.unshare(0x10000000 | 0x40000000) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    with open("/proc/self/uid_map", "w") as f:
        f.write("0 %d 1" % uid)
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)


def netfilter():
    import socket

    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)


def alg():
    import socket

    socket.socket(38, socket.SOCK_SEQPACKET)


def terminal(request):
    import fcntl
    import termios

    master, slave = os.openpty()
    if os.fork() == 0:
        try:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            libc.ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_char_p]
            os._exit(ctypes.get_errno() if libc.ioctl(slave, request, b"x") < 0 else 0)
        except BaseException:
            os._exit(99)
    code = os.waitstatus_to_exitcode(os.wait()[1])
    if code:
        raise OSError(code, os.strerror(code))


def tiocsti():
    terminal(0x5412)


def tiocsti_high_bits():
    terminal(0x5412 | 1 << 40)


def shared_memory():
    """Fills the folders in memory up to 96 MiB each."""
    for folder in sys.argv[2:]:
        with open(folder + "/fill", "wb") as f:
            for _ in range(96):
                f.write(bytes(1 << 20))


try:
    os.umask(0)
    globals()[sys.argv[1]]()
    print("done")
except OSError as e:
    print("refused:", errno.errorcode.get(e.errno, e.errno), e.strerror)
