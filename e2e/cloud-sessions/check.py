"""A notebook or a shell on one cloud: argv = its name, the port of the git server, notebook or shell."""
import asyncio
import glob
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Callable, Dict, Optional, TypeVar
from urllib.parse import parse_qs, urlencode, urlsplit

from freeport import free_port
from tools import MCP, SEER, experiment, run, seer, terminal, write
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import WebSocketClosedError, websocket_connect

T = TypeVar("T")
CUT = 524  # RunPod's proxy: it took too long
CLOUD, GIT = sys.argv[1], "http://127.0.0.1:{}/probes.git".format(sys.argv[2])
TOKEN = os.environ["GIT_TOKEN"]


def step(text: str) -> None:
    print("{}: {}".format(CLOUD, text))


def sandbox(mode: str, **more: object) -> dict:
    return dict(provider=CLOUD, execution_mode=mode, python_packages=["einops==0.8.1"], repos=[{"url": GIT, "install": "pip install -e ."}], secrets=["GIT_TOKEN"],
                models=["./tiny model"], local_files=[["./data é.txt", "/workspace/in/data é.txt"]], **more)


def token_is_gone(ref: str) -> None:
    """The repository's token is in no file that a process of the sandbox may read, in no variable, and in no configuration of git's."""
    home = run(ref, "echo $HOME").strip()
    found = run(ref, "grep -rIl {} . {} 2>/dev/null; env | grep {}; cat probes/.git/config | grep -i -E 'token|password|extraheader'; true".format(TOKEN, home, TOKEN))
    assert not found.strip(), found


def through(once: Callable[[], T]) -> T:
    """A request, made again where the proxy cut it: a slow machine may need more than the proxy's five seconds."""
    end = time.monotonic() + 300
    while True:
        try:
            return once()
        except (urllib.error.HTTPError, HTTPClientError) as e:
            if e.code != CUT or time.monotonic() > end:
                raise
        except (ConnectionError, HTTPException, WebSocketClosedError):
            if time.monotonic() > end:
                raise


def ask(url: str, data: Optional[bytes] = None, **headers: str) -> bytes:
    def once() -> bytes:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=120) as f:
            return f.read()
    return through(once)


def refused(url: str, **headers: str) -> None:
    try:
        ask(url, **headers)
    except urllib.error.HTTPError as e:
        assert e.code == 403, e
    else:
        raise SystemExit("opens without a token: " + url)


async def socket(url: str) -> None:
    (await websocket_connect(HTTPRequest(url, validate_cert=False, connect_timeout=120))).close()


async def printed(url: str, origin: str, code: str) -> str:
    """What code prints in a kernel, over a WebSocket of its own."""
    ws = await websocket_connect(HTTPRequest(url, headers={"Origin": origin}, connect_timeout=120))
    header = {"msg_id": "m1", "username": "e2e", "session": "s1", "msg_type": "execute_request", "version": "5.3", "date": "2026-01-01T00:00:00Z"}
    content = {"code": code, "silent": False, "store_history": False, "user_expressions": {}, "allow_stdin": False, "stop_on_error": True}
    try:
        await ws.write_message(json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell", "buffers": []}))
        while True:
            text = await asyncio.wait_for(ws.read_message(), 120)
            if text is None:
                raise WebSocketClosedError
            message = json.loads(text)
            if message["header"]["msg_type"] == "stream" and message["parent_header"].get("msg_id") == "m1":
                return message["content"]["text"]
    finally:
        ws.close()


def kernel(base: str, token: str) -> None:
    """A browser's way: a kernel of its own over REST, its messages over a WebSocket."""
    ident = json.loads(ask(base + "api/kernels", b"{}", Authorization="token " + token))["id"]
    url = base.replace("http", "ws", 1) + "api/kernels/{}/channels".format(ident)
    try:
        through(lambda: asyncio.run(socket(url)))
    except HTTPClientError as e:
        assert e.code == 403, e
    else:
        raise SystemExit("a WebSocket opens without a token")
    said = through(lambda: asyncio.run(printed(url + "?token=" + token, "{0.scheme}://{0.netloc}".format(urlsplit(base)), "print(6 * 7)")))
    assert said.strip() == "42", said


def notebook() -> None:
    port = free_port()
    step("up of a notebook: packages, a private repository, a model, a library, files")
    path = experiment("notebook", sandbox("notebook", jupyter_port=port), {"libraries": ["./helper.py"], "files": ["./note é.txt"], "init": "READY = helper.double(21) if 'helper' in dir() else __import__('helper').double(21)", "preload_models": False})
    seer("up", "--yes", path, "--name", "nb")
    shown = json.loads(seer("show", "nb", "--json"))["environment"]
    url, token = shown["jupyter_url"], shown["jupyter_token"]
    base = url.partition("?")[0]
    assert shown["jupyter_port"] == port and parse_qs(urlsplit(url).query)["token"] == [token], shown

    step("Jupyter through the provider's way to the port")
    refused(base + "api/sessions")
    refused(base + "seer/v1", Authorization="Bearer wrong")
    # What a browser sends whose page is at the cloud's own name.
    assert json.loads(ask(base + "api/status?token=" + token, Host="x-8888.proxy.example.org", Origin="https://x-8888.proxy.example.org"))
    kernel(base, token)

    step("an agent with nothing but the jupyter_url; a cell that outlasts every request")
    agent = MCP("--notebook", url, "--out", "out")
    agent.call("start_new_session", experiment_name="cloud")
    said = agent.cell("import einops, helper, probes, os; print(READY, helper.double(4), probes.answer(), os.getcwd() == WORKSPACE)\n"
                      "print(open('in/data é.txt').read(), open('note é.txt').read(), sorted(os.listdir(os.environ['MODEL_TINY_MODEL_PATH'])))")
    assert said.split("\n")[:2] == ["42 8 42 True", "data note ['config.json', 'weights.bin']"], said
    assert agent.cell("import time\nfor n in range(9):\n    time.sleep(1); print(n)\nprint('through')").endswith("through\n")
    agent.cell("open('made.txt', 'w').write('by the notebook')")
    (saved,) = glob.glob("out/*_cloud.ipynb")
    with open(saved, encoding="utf-8") as f:
        assert "through" in f.read()
    agent.close()
    token_is_gone("nb")

    step("forward, terminal, snapshot")
    forward = subprocess.Popen([SEER, "forward", "nb", "{}:0".format(port), "--json"], stdout=subprocess.PIPE, text=True)
    local = json.loads(forward.stdout.readline())[0]["url"].rstrip("/")
    local += shown["jupyter_base"]
    assert json.loads(ask(local + "api/status?token=" + token))
    refused(local + "api/sessions")
    forward.terminate()
    forward.wait(300)
    assert terminal([SEER, "shell", "nb"], "stty size >/dev/null && echo th$((6*7))ere && pwd; exit 3\n", "th42ere") == 3
    run("nb", "pip install -q cowsay==6.1")
    seer("snapshot", "nb", CLOUD + "-notebook")
    seer("down", "nb")
    assert "no Jupyter" not in seer("show", "nb", "--json", ok=False)


class Page:
    """What code-server answers, without following where it sends a browser."""

    class _Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *args: object) -> None:
            return None

    def __init__(self, url: str, body: Optional[Dict[str, str]] = None, cookie: str = "") -> None:
        data = None if body is None else urlencode(body).encode()
        request = urllib.request.Request(url, data, {"Cookie": cookie} if cookie else {})
        through(lambda: self._ask(request))

    def _ask(self, request: urllib.request.Request) -> None:
        try:
            answer = urllib.request.build_opener(self._Stay).open(request, timeout=120)
        except urllib.error.HTTPError as e:
            if e.code == CUT:
                raise
            answer = e
        with answer:
            self.code, self.headers, self.text = answer.status, answer.headers, answer.read().decode("utf-8", "replace")


def vscode(ref: str, port: int) -> None:
    """A person's way to VS Code, from another program than the one that started it: with its path and its password, and not without."""
    step("VS Code through the provider's way to the port, and through the runtime")
    opened = json.loads(seer("open", ref, "code", "--print", "--json"))
    shown = json.loads(seer("show", ref, "--json"))["environment"]
    url, password, page = shown["code_server_url"], shown["code_server_password"], urlsplit(opened["url"])
    assert password == opened["password"] and page.hostname.endswith(".localhost"), (shown, opened)
    assert (page.port, page.path) == (urlsplit(url).port, urlsplit(url).path), (shown, opened)
    assert password not in json.dumps(json.loads(seer("ls", "--json"))), "the password is shown to whoever lists sandboxes"
    forward = subprocess.Popen([SEER, "forward", ref, "{}:0".format(port), "--json"], stdout=subprocess.PIPE, text=True)
    local = json.loads(forward.stdout.readline())[0]["url"].rstrip("/") + shown["code_server_base"]
    for way in (url, local):
        elsewhere = Page(way[:-len(shown["code_server_base"])] + "/")
        assert elsewhere.code == 404 and "Set-Cookie" not in elsewhere.headers, (elsewhere.code, elsewhere.text)
        closed = Page(way)
        assert closed.code == 302 and "login" in closed.headers["Location"], (closed.code, closed.text)
        wrong = Page(way + "login", {"password": "wrong", "base": ".", "href": way + "login"})
        assert wrong.code == 200 and "Incorrect password" in wrong.text and "Set-Cookie" not in wrong.headers, (wrong.code, wrong.text)
        right = Page(way + "login", {"password": password, "base": ".", "href": way + "login"})
        assert right.code == 302, (right.code, right.text)
        cookie = right.headers["Set-Cookie"]
        assert "path=" + urlsplit(way).path.rstrip("/") in cookie.replace("Path=", "path="), cookie
        page = Page(way + "?folder=/workspace", cookie=cookie.partition(";")[0])
        assert page.code == 200 and "workbench" in page.text, (page.code, page.text)
    forward.terminate()
    forward.wait(300)


def shell() -> None:
    step("up of a shell with the same things, and VS Code")
    port = free_port()
    path = experiment("shell", sandbox("cli", debug=True, debug_port=port), {"libraries": ["./helper.py"], "init": "import helper; READY = helper.double(21)", "preload_models": False})
    seer("up", "--yes", path, "--name", "sh")
    refusal = seer("open", "sh", "jupyter", ok=False)
    assert "execution_mode" in refusal, refusal
    agent = MCP("--shell", "sh")
    said = agent.call("run_command", command="python -c 'import einops, helper, probes; print(probes.answer())'; git -C probes log --oneline | wc -l; cat 'in/data é.txt'")
    assert said["exit_code"] == 0 and said["stdout"] == "42\n1\ndata", said
    said = agent.call("run_python", code="import probes\nprint(READY)\nprobes.answer()")
    assert said["stdout"] == "42\n" and said["result"] == "42", said
    said = agent.call("run_command", command="for n in 1 2 3 4 5 6 7 8; do sleep 1; echo $n; done", timeout=60)
    while said["state"] == "running":
        said = agent.call("wait_process", process_id=said["process_id"])
    assert said["stdout"].endswith("8\n"), said
    agent.call("write_file", path="/workspace/new/é.bin", base64="AP8=")
    assert agent.call("read_file", path="/workspace/new/é.bin")["content"] == "AP8="
    agent.close()
    token_is_gone("sh")
    vscode("sh", port)
    seer("down", "sh")


write("helper.py", "def double(x):\n    return 2 * x\n")
write("note é.txt", "note")
write("data é.txt", "data")
write("tiny model/config.json", "{}")
write("tiny model/weights.bin", "\0" * 100000)
{"notebook": notebook, "shell": shell}[sys.argv[3]]()
