"""First program of a machine: takes the runtime, starts it and outlives it. See docs/protocol.md, section 1."""
import errno
import fcntl
import hashlib
import hmac
import json
import mmap
import os
import re
import select
import signal
import socket
import sys
import threading
import time
from collections import deque

PREFIX = "seer-runtime-"
MOST = 1 << 30  # bytes of a runtime
LEASE_ENDED, PORT_TAKEN = 75, 98  # exit codes: of the runtime, of this program
CODES = {"invalid": "400 Bad Request", "unauthorized": "401 Unauthorized", "conflict": "409 Conflict",
         "failed": "422 Unprocessable Entity", "internal": "500 Internal Server Error",
         "unavailable": "503 Service Unavailable", "no_space": "507 Insufficient Storage"}


SELF_END = "SEER_SELF_END"
PATIENCE = 300  # seconds in which the machine's end is asked for
ATTENTION = 10  # seconds for a request without a token
OVERDUE = 10  # seconds in which a runtime may still end a lease that is over


def say(text, *values):
    print("seer: " + text % values, file=sys.stderr, flush=True)


def scratch_files():
    import tempfile  # slow to import, and not needed by a machine with a full cache
    return tempfile


def shorten_arguments():
    """Whoever lists processes sees a name, not this text."""
    try:
        import ctypes
        with open("/proc/self/cmdline", "rb") as f:
            words = f.read()
        first = ctypes.c_void_p.in_dll(ctypes.CDLL(None), "program_invocation_name").value
        if ctypes.string_at(first, len(words)) == words:
            ctypes.memset(first, 1, len(words))  # without the zero at the end, the arguments end with the first one
            ctypes.memmove(first, b"seer-loader\0", 12)
    except (ImportError, OSError, ValueError):
        pass  # another system, or another C library


# --- the processes of the machine ---------------------------------------------------------------------------------

def adopt_orphans():
    """PID 1 is the parent of every orphan. Elsewhere it has to be asked for."""
    if os.getpid() == 1 or not sys.platform.startswith("linux"):
        return
    import ctypes
    if ctypes.CDLL(None).prctl(36, 1, 0, 0, 0):  # PR_SET_CHILD_SUBREAPER
        say("orphaned processes cannot be adopted here")


def processes_by_ps():
    """Without /proc: what has left its parent is not found."""
    import subprocess
    ps = subprocess.Popen(["ps", "-axo", "pid=,ppid=,state="], stdout=subprocess.PIPE)
    rows = [line.split() for line in ps.communicate()[0].splitlines()]
    return {int(pid): (int(parent), False, False) for pid, parent, state in rows if state[:1] != b"Z" and int(pid) != ps.pid}


def state_and_parent(folder):
    with open(folder + "/stat", "rb") as f:
        fields = f.read().rpartition(b")")[2].split()
    return fields[0], fields[1], int(fields[17])


def living_thread(pid):
    """The folder of a thread that lives, and the parent. A process whose first thread has ended is Z, and may live on in others."""
    folder = "/proc/%s" % pid
    state, parent, threads = state_and_parent(folder)
    if state not in (b"Z", b"X"):
        return folder, int(parent)
    for thread in os.listdir(folder + "/task") if os.path.isdir(folder + "/task") else ():
        try:
            if state_and_parent(folder + "/task/" + thread)[0] not in (b"Z", b"X"):
                return folder + "/task/" + thread, int(parent)
        except OSError:
            pass  # it has ended meanwhile
    return folder if threads > 1 else None, int(parent)  # gVisor does not list them


def processes(machine):
    """pid -> (parent, whether it carries the cookie of this machine, whether a service has started it)"""
    if not os.path.exists("/proc/self"):
        return processes_by_ps()
    found, cookie = {}, ("SEER_MACHINE=" + machine).encode()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            folder, parent = living_thread(name)
            if folder is None:
                continue
        except OSError:
            continue
        try:
            with open(folder + "/environ", "rb") as f:
                variables = f.read().split(b"\0")
        except OSError as e:
            if e.errno in (errno.EACCES, errno.EPERM):  # of another user, but perhaps below us
                found[int(name)] = (parent, False, False)
            continue
        served = any(v.startswith(b"SEER_PROCESS=service/") for v in variables)
        found[int(name)] = (parent, bool(machine) and cookie in variables, served)
    return found


def chain(found, pid):
    """The ancestors of a process, nearest first."""
    seen = set()
    while pid in found and pid not in seen:
        seen.add(pid)
        pid = found[pid][0]
        yield pid


def victims(machine, services):
    """What is to be ended: services, which outlive their runtime, only if it is said."""
    found, me = processes(machine), os.getpid()
    spared = {me}.union(chain(found, me))
    if not services:
        served = {pid for pid in found if found[pid][2]}
        spared.update(pid for pid in found if pid in served or served.intersection(chain(found, pid)))
    if me == 1:
        return [pid for pid in found if pid not in spared]
    return [pid for pid in found if pid not in spared and (found[pid][1] or me in chain(found, pid))]


def reap():
    """pid -> exit code of the children that have ended."""
    gone = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return gone
        if pid == 0:
            return gone
        if os.WIFSTOPPED(status):
            continue  # it is held
        gone[pid] = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)


def end_everything(machine, services=True):
    """Kills again and again until nothing is left: a process may be forking meanwhile."""
    for _ in range(300):
        if services and os.getpid() == 1:
            try:
                os.kill(-1, signal.SIGKILL)  # also what /proc does not show
            except OSError:
                pass
        targets = victims(machine, services)
        for pid in targets:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        reap()
        if not targets:
            return True
        time.sleep(0.01)
    say("some processes could not be ended: %s", targets)
    return False


class Unheld(Exception):
    """Why not everything stands still."""


class Holder:
    """Holds threads as a debugger does, while the processes of the machine are saved: whatever signal continues a stopped process, it
    does not move. For the main thread only: the kernel knows the thread that holds."""

    PATIENCE = 10  # seconds

    def __init__(self):
        self.threads = set()

    def hold(self, others):
        """Two looks in which everything is held and nothing ends: what had been started unseen would be found by the second."""
        end, still = time.monotonic() + self.PATIENCE, 0
        while still < 2:
            why = self.look(others())
            still = 0 if why else still + 1
            if why and time.monotonic() > end:
                raise Unheld(why)

    def look(self, pids):
        why = None
        for pid in pids:
            try:
                state, _, threads = state_and_parent("/proc/%d" % pid)
                if state in (b"Z", b"X") and threads > 1:  # gVisor does not list them
                    why = "process %d has ended, and its threads have not" % pid
                for thread in [] if state in (b"Z", b"X") else os.listdir("/proc/%d/task" % pid):
                    if state_and_parent("/proc/%d/task/%s" % (pid, thread))[0] != b"t" or int(thread) not in self.threads:
                        why = "process %d does not stand still" % pid
                        self.seize(pid, int(thread))
            except (FileNotFoundError, ProcessLookupError):
                why = "process %d ended just now" % pid
        return why

    def seize(self, pid, thread):
        if thread in self.threads:
            return  # it stops soon
        try:
            trace(0x4206, thread)  # PTRACE_SEIZE
        except PermissionError:
            raise Unheld("process %d belongs to another user, is debugged, or lets nobody look into it" % pid)
        self.threads.add(thread)
        trace(0x4207, thread)  # PTRACE_INTERRUPT

    def release(self):
        for thread in self.threads:
            try:
                trace(17, thread)  # PTRACE_DETACH
            except OSError:
                pass  # it has ended
        self.threads = set()


def trace(request, thread):
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(request, thread, None, None):
        raise OSError(ctypes.get_errno(), "ptrace")


# --- the end of the machine ---------------------------------------------------------------------------------------

def conceal(name):
    """Takes a variable out of the environment, also of the one that others may see in /proc."""
    value = os.environ.get(name)
    if value is not None:
        try:
            import ctypes
            libc = ctypes.CDLL(None)
            libc.getenv.restype = ctypes.c_void_p
            ctypes.memset(libc.getenv(name.encode()), ord("-"), len(os.fsencode(value)))
            close_memory()
        except Exception as e:
            say("%s could not be wiped out: %s", name, e)
        del os.environ[name]
    return value


def close_memory():
    """From here on no process of the same user reads our memory or our files, the runtime's state among them."""
    if sys.platform.startswith("linux"):
        import ctypes
        if ctypes.CDLL(None).prctl(4, 0, 0, 0, 0):  # PR_SET_DUMPABLE
            say("the memory of this program cannot be closed")


class Program:
    """The runtime. It is read and checked once, and then started from memory that nobody can change or read. Where the system has no
    such memory, its file is checked before every start."""

    def __init__(self, path, want):
        self.path, self.want, self.fd = path, want, None
        self.exposed = True  # to what else runs, until it closes its memory itself
        with open(path, "rb") as f:
            self.seal(f)
            if self.digest(f) != want:
                self.close()
                raise LookupError(path)

    def seal(self, f):
        why = "this system has no files in memory"
        for flags in (0x13, 0x3) if hasattr(os, "memfd_create") else ():  # MFD_EXEC, which old kernels refuse; ALLOW_SEALING, CLOEXEC
            try:
                self.fd = os.memfd_create("seer-runtime", flags)
                break
            except OSError as e:
                why = e
        if self.fd is None:
            return say("%s is checked before every start, because it cannot be sealed: %s", self.path, why)
        while os.sendfile(self.fd, f.fileno(), None, 1 << 24):
            pass
        fcntl.fcntl(self.fd, 1033, 15)  # F_ADD_SEALS: SEAL, SHRINK, GROW, WRITE

    def digest(self, f):
        f = f.fileno() if self.fd is None else self.fd
        size = os.fstat(f).st_size
        if not size:
            return ""
        with mmap.mmap(f, size, prot=mmap.PROT_READ) as data:
            return hashlib.sha256(data).hexdigest()

    def start(self, env):
        """For the main thread only: the runtime ends with the thread that started it."""
        for mode in () if self.fd is None else (0o111, 0o555):
            os.fchmod(self.fd, mode)  # the kernel closes the memory of a program that its user cannot read, from its first instruction on
            try:
                with Unreadable():
                    pid = os.posix_spawn("/proc/self/fd/%d" % self.fd, [self.path], env, setsigdef=[signal.SIGPIPE])
                self.exposed = mode == 0o555
                return pid
            except PermissionError:  # gVisor starts no such program
                if mode == 0o555:
                    raise
        with open(self.path, "rb") as f:
            if self.digest(f) != self.want:
                raise OSError(errno.EBADF, "it was changed")
        return os.posix_spawn(self.path, [self.path], env, setsigdef=[signal.SIGPIPE])

    def close(self):
        if self.fd is not None:
            os.close(self.fd)


class Unreadable:
    """Without the right of root to read every file; a program that is started has it again."""

    def __enter__(self):
        self.own = None
        if os.geteuid() == 0 and "ctypes" in sys.modules:
            import ctypes
            self.libc, self.head, self.own = ctypes.CDLL(None), (ctypes.c_uint32 * 2)(0x20080522), (ctypes.c_uint32 * 6)()
            self.libc.capget(self.head, self.own)
            less = (ctypes.c_uint32 * 6)(*self.own)
            less[0] &= ~6  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            self.libc.capset(self.head, less)

    def __exit__(self, *_):
        if self.own:
            self.libc.capset(self.head, self.own)


class SelfEnd:
    """The request that ends this machine, where its end does not end the bill. See sdk.SelfEnd."""

    def __init__(self):
        text = conceal(SELF_END)
        self.request, self.values = json.loads(text) if text else None, {}
        if text:  # now: later, foreign code may have changed what lies on the disk, certificates among it
            import encodings.idna  # noqa: F401
            import ssl
            import urllib.request
            self.https = urllib.request.HTTPSHandler(context=ssl.create_default_context())
        for name in sorted(set(re.findall(r"{(\w+)}", text or ""))):
            value = conceal(name)
            if value is None:
                say("%s needs the variable %s, which is not set", SELF_END, name)
            else:
                self.values[name] = value

    def fill(self, text):
        return re.sub(r"{(\w+)}", lambda m: self.values.get(m[1], m[0]), text)

    def make(self):
        """Asks until the machine's end is accepted, or too much time has passed."""
        if not self.request:
            return
        began, pause = time.time(), 1
        while True:
            for way in [self.request] + (self.request.get("otherwise") or []):
                why = self.attempt(way)
                if not why:
                    return
                say("the end of this machine was asked for in vain: %s", why)
            if time.time() + pause > began + PATIENCE:
                say("nobody ends this machine, and it may go on costing money")
                return
            time.sleep(pause)
            pause = min(2 * pause, 60)

    def attempt(self, way):
        import urllib.error
        import urllib.request

        class Stay(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_):
                return None  # the credential goes nowhere else

        try:
            method, body = way["method"], self.fill(way.get("body") or "").encode()
            headers = {name: self.fill(value) for name, value in (self.request.get("headers") or {}).items()}
            request = urllib.request.Request(self.fill(way["url"]), body if method == "POST" else None, headers, method=method)
            with urllib.request.build_opener(Stay, self.https).open(request, timeout=10):
                return None
        except urllib.error.HTTPError as e:
            return None if e.code == 404 else "HTTP status %d" % e.code
        except Exception as e:
            return getattr(e, "reason", None) or repr(e)


# --- the conversation before the runtime is there -----------------------------------------------------------------

def listen(where):
    kind, _, address = where.partition(":")
    if kind == "unix":
        return listen_unix(address)
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((host, int(port)))
    sock.listen(4096)  # a client of a Unix socket gets EAGAIN, where the queue is full
    return sock


def listen_unix(path):
    folder, name = os.path.split(path)
    os.chdir(folder)  # a relative name fits where a long path does not
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(name)
    except FileNotFoundError:
        pass
    except ConnectionRefusedError:
        os.unlink(name)  # left behind by a machine that was killed
    sock = socket.socket(socket.AF_UNIX)
    mask = os.umask(0o177)
    sock.bind(name)
    os.umask(mask)
    os.chdir("/")
    sock.listen(4096)  # a client of a Unix socket gets EAGAIN, where the queue is full
    return sock


def answer(conn, status, body):
    data = json.dumps(body).encode()
    head = "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nSeer: 1\r\nConnection: close\r\n\r\n"
    try:
        end = time.monotonic() + (60 if (conn.gettimeout() or 0) > ATTENTION else 2)  # with and without a token
        conn.sendall((head % (status, len(data))).encode() + data)
        conn.shutdown(socket.SHUT_WR)
        conn.settimeout(2)
        while time.monotonic() < end and conn.recv(1 << 16):  # closing with unread data would take the answer away
            pass
    except OSError:
        pass
    conn.close()


def fail(conn, code, message, *values):
    answer(conn, CODES[code], {"error": {"code": code, "message": message % values}})


def read_head(conn):
    data, end = b"", time.monotonic() + ATTENTION
    while b"\r\n\r\n" not in data:
        conn.settimeout(max(0.01, end - time.monotonic()))  # all of it, not a piece
        more = conn.recv(1 << 14)
        if not more or len(data) > 1 << 14:
            raise ValueError("no complete request")
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines)
    return method, path, {name.strip().lower(): value.strip() for name, _, value in pairs}, rest


class Loader:
    def __init__(self, boot, self_end):
        self.boot, self.self_end = boot, self_end
        self.machine = boot.get("machine") or ""
        self.cache = boot.get("cache") or scratch_files().mkdtemp(prefix="seer-cache-")
        self.end = boot.get("end_unix") or float("inf")
        self.lock = threading.Lock()
        self.part = None  # of a runtime that arrives: its SHA-256, its path, how much is there
        self.commands = deque()  # (runtime, connection that waits for the answer)
        self.lease, self.overdue = float("inf"), None  # on the clock of time.monotonic()
        self.stopping = False
        self.holder, self.runtime, self.parked_end = Holder(), 0, None  # the process of the runtime; the end of a parked machine

    def serve(self, conn):
        """Answers one request. Whoever has no token gets ten seconds and 16 KiB of attention."""
        try:
            method, path, headers, rest = read_head(conn)
            kind, _, token = headers.get("authorization", "").partition(" ")
            digest = hashlib.sha256(token.encode("latin-1")).hexdigest()
            if kind.lower() != "bearer" or not hmac.compare_digest(digest, self.boot["admin_sha256"].lower()):
                return fail(conn, "unauthorized", "this needs the admin token of the machine")
            conn.settimeout(120)
            if (method, path) == ("GET", "/loader/v1"):
                return answer(conn, "200 OK", self.describe())
            if (method, path) == ("POST", "/loader/v1/push"):
                return self.push(conn, headers, rest)
            if (method, path) == ("POST", "/loader/v1/start"):
                return self.start(conn, self.wanted(headers))
            fail(conn, "unavailable", "the runtime has not been started yet")
        except OSError as e:
            code = "no_space" if e.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else "internal"
            fail(conn, code, "the runtime could not be stored in %s: %s", self.cache, e)
        except ValueError as e:
            fail(conn, "invalid", "the loader does not understand this request: %s", e)
        except Exception as e:  # the client would wait for an answer until the boot time is over
            fail(conn, "internal", "the loader has a defect: %r", e)

    def describe(self):
        have = [name[len(PREFIX):] for name in os.listdir(self.cache) if name.startswith(PREFIX) and "." not in name]
        return {"loader": 1, "arch": os.uname().machine, "system": os.uname().sysname, "have": have}

    def wanted(self, headers):
        """The runtime that a request is about: its SHA-256 and its path."""
        want = headers.get("x-seer-sha256", "").lower()
        if len(want) != 64 or want.strip("0123456789abcdef"):
            raise ValueError("X-Seer-Sha256 is not a SHA-256")
        return want, os.path.join(self.cache, PREFIX + want)

    def start(self, conn, wanted):
        try:
            program = Program(wanted[1], wanted[0])
        except (FileNotFoundError, LookupError):
            return fail(conn, "conflict", "need_binary")
        self.commands.append((program, conn))
        self.wake.send(b"c")

    def push(self, conn, headers, rest):
        """Takes a piece of the runtime and tells how much is there. Pieces may come twice, and break off."""
        want, path = self.wanted(headers)
        left, offset, size = (int(headers.get(name, "0")) for name in ("content-length", "x-seer-offset", "x-seer-size"))
        if min(left, offset) < 0 or not 0 < size <= MOST or offset + left > size:
            raise ValueError("a piece of %d bytes at %d of %d" % (left, offset, size))
        with self.lock:
            have = self.arrived(want, path, size)
        while left and have < size and offset <= have:
            chunk = (rest or conn.recv(1 << 18))[:left]
            rest = b""
            if not chunk:
                raise ValueError("the piece did not arrive whole")
            with self.lock:
                have = self.arrived(want, path, size)
                if have < size:
                    have = self.write(chunk, offset)
            offset, left = offset + len(chunk), left - len(chunk)
        with self.lock:
            found = self.finish(want, path, size)
        if found != want:
            return fail(conn, "failed", "the runtime that arrived has the SHA-256 %s, not %s", found, want)
        answer(conn, "200 OK", {"have": have})

    def arrived(self, want, path, size):
        """How much of a runtime is there. Beginning another one gives up what was there of the one before."""
        if self.part and self.part[0] == want:
            return self.part[2]
        if self.intact(path, want):
            return size
        self.drop()
        fd, temporary = scratch_files().mkstemp(prefix=PREFIX, suffix=".part", dir=self.cache)
        os.close(fd)
        self.part = [want, temporary, 0]
        return 0

    def write(self, chunk, offset):
        """Of two requests with the same piece, both may write: it is the same."""
        with open(self.part[1], "r+b") as f:
            f.seek(offset)
            f.write(chunk)
        self.part[2] = max(self.part[2], offset + len(chunk))
        return self.part[2]

    def finish(self, want, path, size):
        """Checks a runtime that is there and puts it into its place; what it returns is its SHA-256."""
        if not self.part or self.part[0] != want or self.part[2] < size:
            return want
        with open(self.part[1], "rb") as f:
            found = hashlib.sha256(f.read()).hexdigest()
        if found == want:
            os.chmod(self.part[1], 0o755)
            os.rename(self.part[1], path)
        self.drop()
        return found

    def drop(self):
        if self.part and os.path.exists(self.part[1]):
            os.unlink(self.part[1])
        self.part = None

    def intact(self, path, want):
        try:
            with open(path, "rb") as f:
                return hashlib.sha256(f.read()).hexdigest() == want
        except FileNotFoundError:
            return False

    # --- the life of the machine ----------------------------------------------------------------------------------

    def run(self):
        try:
            listener = listen(self.boot["listen"])
        except OSError as e:
            say("cannot listen on %s: %s", self.boot["listen"], e.strerror or e)
            self.self_end.make()
            os._exit(PORT_TAKEN)
        os.makedirs(self.cache, mode=0o700, exist_ok=True)
        self.place(listener)
        adopt_orphans()
        self.supervise(*self.await_start())

    def place(self, listener):
        """The runtime finds its socket at 3 and its memory at 4, however often it is started, at 5 the end of a pipe whose
        other one only we have: the kernel ends workers with us, and at 6 a socket on which it speaks with us."""
        if hasattr(os, "memfd_create"):
            memory = os.memfd_create("seer-state")
        else:
            memory = os.dup(scratch_files().TemporaryFile().fileno())
        ends = os.pipe()
        near, far = (s.detach() for s in socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
        low = (memory, ends[0], far, near, ends[1])
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 64) for fd in (listener.fileno(),) + low]
        listener.close()
        for fd in low:
            os.close(fd)
        for i in range(4):
            os.dup2(high[i], 3 + i)
        self.listener, self.near = socket.socket(fileno=high[0]), socket.socket(fileno=high[4])
        self.near.setblocking(False)
        self.woken, self.wake = socket.socketpair()
        self.wake.setblocking(False)
        signal.set_wakeup_fd(self.wake.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.stop)

    def stop(self, *_):
        self.stopping = True

    def hear(self):
        """Notes when the lease ends; lets go of the socket while the processes of the machine are saved, and takes the one that
        comes instead."""
        try:
            said, files, _, _ = self.near.recvmsg(4096, 64)
            message = json.loads(said)
            self.lease, self.overdue = time.monotonic() + message.get("lease", float("inf")), None
            if message["t"] == "lease":
                return
            if message["t"] in ("hold", "release"):
                return self.near.send(json.dumps(self.hold(message["t"])).encode())
            for _, _, data in files:
                fd = int.from_bytes(data[:4], sys.byteorder)
                os.dup2(fd, 3)
                self.listener = socket.socket(fileno=fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 64))
                os.close(fd)
            if message["t"] == "park":  # what is saved may go on after the end of this machine
                self.listener.close()
                os.dup2(4, 3)  # the number stays taken
                self.parked_end, self.end = self.end, float("inf")
            else:
                self.end, self.parked_end = message.get("end_unix", self.parked_end or self.end) or float("inf"), None
                if "admin_sha256" in message:  # it is a copy: each runtime from here on hears whose it is
                    self.boot.update(admin_sha256=message["admin_sha256"], end_unix=message["end_unix"])
            self.near.send(b"{}")
        except (OSError, ValueError) as e:
            say("the runtime was not understood: %s", e)

    def hold(self, what):
        """Has all but the runtime and this program stand still, or go on."""
        try:
            if what == "hold":
                self.holder.hold(self.others)
                return {}
            why = {}
        except (Unheld, OSError) as e:
            why = {"error": str(e)}
        self.holder.release()
        return why

    def others(self):
        if os.getpid() != 1:
            return [pid for pid in victims(self.machine, True) if pid != self.runtime]
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, self.runtime)]

    def wait(self, seconds, *sources):
        """Sleeps until a signal, a command, a connection or so long."""
        timeout = max(0, min(seconds, 60))
        ready = select.select((self.woken,) + sources, [], [], timeout)[0]
        if self.woken in ready:
            self.woken.recv(4096)
        return ready

    def await_start(self):
        deadline = min(self.end, time.time() + (self.boot.get("boot_seconds") or 120))
        while True:
            if self.stopping:
                self.leave(0)
            if time.time() >= deadline:
                say("no runtime was started in time; the machine ends")
                self.leave(0 if time.time() >= self.end else 1)
            if self.listener in self.wait(deadline - time.time(), self.listener):
                conn = self.listener.accept()[0]
                if threading.active_count() < 64:
                    threading.Thread(target=self.serve, args=(conn,), daemon=True).start()
                else:
                    conn.close()
            reap()
            while self.commands:
                program, conn = self.commands.popleft()
                try:
                    close_memory()  # not before: until now our environment tells the provider who we are
                except Exception as e:  # a Python without ctypes
                    say("the memory of this program cannot be closed: %s", e)
                try:
                    pid = self.spawn(program)
                except OSError as e:
                    program.close()
                    fail(conn, "internal", "the runtime could not be started: %s", e)
                    continue
                threading.Thread(target=answer, args=(conn, "200 OK", {"started": True}), daemon=True).start()
                return program, pid

    def spawn(self, program):
        env = dict(os.environ, SEER_BOOT=json.dumps(dict(self.boot, python=sys.executable)))
        if self.machine:
            env["SEER_MACHINE"] = self.machine
        return program.start(env)

    def supervise(self, program, pid):
        starts, asked, self.runtime = [time.time()], None, pid
        self.lease = time.monotonic() + (self.boot.get("boot_seconds") or 120)
        while True:
            gone = reap()
            if pid in gone:
                if gone[pid] == LEASE_ENDED or asked:
                    self.leave(0)
                self.holder.release()
                # What a dead runtime leaves behind, nobody could stop. Services go on, unless the next one could be read by them.
                alone = end_everything(self.machine, services=program.exposed)
                if program.exposed and not alone:
                    self.leave(1)
                starts = [t for t in starts if t > time.time() - 60]
                if len(starts) > 5:
                    say("the runtime died %d times in a minute, last with %d; the machine ends", len(starts), gone[pid])
                    self.leave(1)
                try:
                    pid = self.runtime = self.spawn(program)
                except OSError as e:
                    say("the runtime could not be started again: %s", e)
                    self.leave(1)
                starts.append(time.time())
            if self.stopping and not asked:
                asked = time.time()
                os.kill(pid, signal.SIGTERM)
            limit = min(self.end + 3, asked + 5 if asked else self.end + 3) - time.time()
            if limit <= 0 or self.forsaken():
                self.leave(0)  # a runtime that hangs does not keep the machine
            if self.near in self.wait(min(limit, (self.overdue or self.lease) - time.monotonic()), self.near):
                self.hear()

    def forsaken(self):
        """Whether the runtime has let the end of its lease pass. One that stood still with the whole computer can still speak."""
        now = time.monotonic()
        if now >= self.lease and self.overdue is None:
            self.overdue = now + OVERDUE
        if self.overdue is None or now < self.overdue:
            return False
        say("the lease has ended, and the runtime does nothing; the machine ends")
        return True

    def leave(self, code):
        end_everything(self.machine)
        kind, _, path = self.boot["listen"].partition(":")
        if kind == "unix" and os.path.exists(path):
            os.unlink(path)
        self.drop()
        self.listener.close()
        os.close(3)
        self.self_end.make()
        os._exit(code)


if __name__ == "__main__":
    shorten_arguments()
    Loader(json.loads(os.environ.pop("SEER_BOOT")), SelfEnd()).run()
