"""The life of the machine, from the first connection to its end."""
import fcntl
import json
import os
import select
import signal
import socket
import sys
import threading
import time
from collections import deque

from .holder import Holder, Unheld
from .http import answer, fail, listen
from .processes import adopt_orphans, end_everything, reap, victims
from .requests import Requests
from .store import Store
from .system import close_memory, say, scratch_files

LEASE_ENDED, PORT_TAKEN = 75, 98  # exit codes: of the runtime, of this program
OVERDUE = 10  # seconds in which a runtime may still end a lease that is over


class Loader:
    """Waits for a runtime, starts it, and starts it again when it dies; ends the machine."""

    def __init__(self, boot, self_end):
        self.boot, self.self_end = boot, self_end
        self.machine = boot.get("machine") or ""
        self.store = Store(boot.get("cache"))
        self.requests = Requests(boot, self.store, self.start)
        self.end = boot.get("end_unix") or float("inf")
        self.commands = deque()  # (runtime, connection that waits for the answer)
        self.lease, self.overdue = float("inf"), None  # on the clock of time.monotonic()
        self.stopping = False
        self.holder, self.runtime, self.parked_end = Holder(), 0, None  # the process of the runtime; the end of a parked machine

    def start(self, program, conn):
        self.commands.append((program, conn))
        self.wake.send(b"c")

    def run(self):
        try:
            listener = listen(self.boot["listen"])
        except OSError as e:
            say("cannot listen on %s: %s", self.boot["listen"], e.strerror or e)
            self.self_end.make()
            os._exit(PORT_TAKEN)
        os.makedirs(self.store.cache, mode=0o700, exist_ok=True)
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
                return self.near.send(json.dumps(dict(self.hold(message["t"]), n=message.get("n"))).encode())
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
            self.near.send(json.dumps({"n": message.get("n")}).encode())
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
                    threading.Thread(target=self.requests.serve, args=(conn,), daemon=True).start()
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
        self.store.drop()
        self.listener.close()
        os.close(3)
        self.self_end.make()
        os._exit(code)
