"""Has the processes of the machine stand still while they are saved."""
import os
import time

from .processes import state_and_parent


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
