"""A terminal and a notebook of sandboxes on another computer, as a person and an agent use them.

usage: session.py shell NAME | session.py notebook NAME
"""
import glob, json, os, pty, signal, subprocess, sys, threading

SEER = os.environ["SEER"]


def shell(name: str) -> None:
    """Types into `seer shell`: the terminal has a size, Ctrl-C stops a command, and exit ends it."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(SEER, [SEER, "shell", name])
    seen = b""

    def until(text: bytes) -> None:
        nonlocal seen
        while text not in seen:
            seen += os.read(fd, 4096)
        seen = seen[seen.index(text) + len(text):]

    def stuck(*_: object) -> None:
        raise SystemExit(f"the terminal says nothing more after {seen!r}")

    signal.signal(signal.SIGALRM, stuck)
    signal.alarm(60)
    # The text comes from the process that Ctrl-C is for, which is in the foreground by then.
    os.write(fd, b"sh -c 'test -t 0 && echo ter\"\"minal && exec sleep 600'\n")
    until(b"terminal\r\n")
    os.write(fd, b"\x03")
    os.write(fd, b"echo after=$?\n")
    until(b"after=130")
    os.write(fd, b"exit 7\n")
    try:
        while os.read(fd, 4096):
            pass
    except OSError:
        pass  # the terminal is closed
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


def notebook(name: str) -> None:
    """Runs cells through the MCP server of the notebook; variables stay."""
    p = subprocess.Popen([SEER, "mcp", "--notebook", name, "--out", "out"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    limit = threading.Timer(100, p.kill)
    limit.daemon = True
    limit.start()

    def ask(number, method, params):
        p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
        p.stdin.flush()
        for line in p.stdout:
            answer = json.loads(line)
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
        raise SystemExit("the server has ended")

    ask(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
    p.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    for number, (tool, arguments, want) in enumerate([
        ("start_new_session", {"experiment_name": "try"}, "_try.ipynb"),
        ("execute_code", {"code": "x = 40 + 2"}, ""),
        ("execute_code", {"code": "print('the cell has', x)"}, "the cell has 42"),
    ], 3):
        answer = ask(number, "tools/call", {"name": tool, "arguments": arguments})
        assert not answer.get("isError") and want in json.dumps(answer), answer
    p.stdin.close()
    assert p.wait() == 0
    [saved] = glob.glob("out/*.ipynb")
    assert "the cell has 42" in open(saved).read()


{"shell": shell, "notebook": notebook}[sys.argv[1]](sys.argv[2])
