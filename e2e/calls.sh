# The way of a researcher who has never seen Seer's calls, through docs/tour.md, docs/library.md
# and docs/mcp.md as they are written: values, streams, long calls, handles, limits and
# errors, from Python, the command line and MCP; then a run, and the run again.
export SEER_PYTHON
SEER_PYTHON=$("$TOP/scripts/python")
cat >interface.py <<'P'
import enum
import sys
import time
from typing import Dict, Iterator, List, Literal, Optional
import numpy as np

weights = np.arange(12 * 64 * 64, dtype=np.float32).reshape(12, 64, 64)
steps_done = 0
ended = False

class Pooling(enum.Enum):
    MEAN = "mean"
    MAX = "max"

@expose
def activations(text: str, layer: Optional[int] = None) -> np.ndarray:  # (layer, width, width)
    """Activations of all layers, or of one."""
    return weights + len(text) if layer is None else weights[layer] + len(text)

@expose
def pool(states: np.ndarray, options: Pooling = Pooling.MEAN) -> np.ndarray:
    return states.max(0) if options is Pooling.MAX else states.mean(0)

@expose
def generate(prompt: str, tokens: int = 3) -> Iterator[str]:
    print("reading", prompt)
    for i in range(tokens):
        sys.stderr.write("\r%d/%d" % (i + 1, tokens))
        yield "%s-%d" % (prompt, i)

@expose(timeout=600)
def train(steps: Optional[int] = None) -> int:
    """Takes its steps; without a number, until end_training is called."""
    global steps_done, ended
    taken, ended = 0, False
    while taken < steps if steps is not None else not ended:
        time.sleep(0.1)
        print("step", taken)
        taken += 1
        steps_done += 1
    return taken

@expose(concurrent=True)
def end_training() -> None:
    global ended
    ended = True

@expose(concurrent=True, read_only=True)
def status() -> Dict[str, int]:
    return {"steps": steps_done}

@expose(batch=8)
def embed(texts: List[str]) -> np.ndarray:
    return np.array([[len(t), len(texts)] for t in texts])

@expose
def fail(kind: Literal["value", "key"] = "value") -> None:
    raise ValueError("no layer 99: ünïcode") if kind == "value" else KeyError(kind)
P
cat >agent.py <<'P'
import model_tools
print("shape", model_tools.activations("hello").shape, *model_tools.generate("a", 2))
try:
    list(model_tools.generate("a", 99))
except model_tools.SeerError as e:
    print(type(e).__name__, e)
P
cat >seer.yaml <<'Y'
name: calls
sandbox: {python_packages: [numpy], network: none, timeout: 10m}
serve:
  - file: interface.py
    name: model_tools
    access: {functions: [activations, generate], calls: 10, arguments: {generate: {tokens: {maximum: 5}}}}
agent: {command: [python3, agent.py]}
workspace: {files: [agent.py]}
Y
"$SEER" up --yes seer.yaml --name lab -q
trap '"$SEER" down --all -q >/dev/null 2>&1 || true' EXIT
"$SEER" serve lab interface.py --as library --name model_tools --out lib -q

echo "=== Python"
id=$(PYTHONPATH=lib "$SEER_PYTHON" -c 'import model_tools; print(model_tools.train.submit(5).id)') # and the process is gone
PYTHONPATH=lib "$SEER_PYTHON" - "$id" <<'P'
import asyncio, concurrent.futures, sys
import numpy as np
import model_tools

def fails(kind, text, call):
    try:
        call()
    except kind as e:
        assert text in str(e), e
    else:
        raise AssertionError("%s was not raised" % kind)

pending = model_tools.attach(sys.argv[1])
assert pending.result() == 5 and pending.done() and pending.state() == "done"
a = model_tools.activations("hello")
assert type(a) is np.ndarray and a.shape == (12, 64, 64) and a.dtype == np.float32, a
assert model_tools.pool(a[0], "max").tolist() == a[0].max(0).tolist()
with model_tools.generate("once") as tokens:
    assert next(tokens) == "once-0"
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    assert [int(v[0]) for v in pool.map(model_tools.embed, ["x" * i for i in range(20)])] == list(range(20))

h = model_tools.activations.handle("hello")
assert h.shape == (12, 64, 64) and h.stats["nan"] == 0 and "ndarray" in repr(h), h
assert np.array_equal(h[0, :, :10], a[0, :, :10]) and np.allclose(model_tools.pool(h[3]), a[3].mean(0))
assert len(h.topk(5)) == 2 and np.array_equal(h.fetch(), a)
h.release()
fails(model_tools.HandleGone, "released", h.fetch)

said = []
with model_tools.options(output=lambda stream, text: said.append(text)):
    assert list(model_tools.generate("b", 2)) == ["b-0", "b-1"]
assert said[0] == "reading b\n" and said[-1].endswith("2/2"), said
with model_tools.options(timeout=0.5):
    fails(TimeoutError, "0.5 seconds", model_tools.train)
with model_tools.options(handles_above=1000):
    assert isinstance(model_tools.activations("x"), model_tools.Handle)

async def together():
    words = [w async for w in model_tools.generate.aio("c", 2)]
    task = asyncio.create_task(model_tools.train.aio())
    while (await model_tools.status.aio())["steps"] < 8:
        await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.wait([task])
    return words, task.cancelled()
assert asyncio.run(together()) == (["c-0", "c-1"], True)

fails(ValueError, "ünïcode", model_tools.fail)
fails(KeyError, "key", lambda: model_tools.fail("key"))
fails(TypeError, 'kind must be one of "value", "key"', lambda: model_tools.fail("vlaue"))
fails(TypeError, "layer must be an int or None", lambda: model_tools.activations("x", layer="3"))
fails(TypeError, "states must be an array", lambda: model_tools.pool("a text"))
fails(IndexError, "99", lambda: model_tools.activations("x", 99))
fails(model_tools.CallError, "no call nowhere-1", model_tools.attach("nowhere-1").result)
print("python: all as documented")
P

echo "=== command line"
"$SEER" call lab model_tools.activations text='a b ü' layer=2 --out layer.npy
test "$("$SEER" call lab model_tools.pool states=@layer.npy options=max --json | "$SEER_PYTHON" -c 'import json, sys; print(len(json.load(sys.stdin)))')" = 64
handle=$("$SEER" call lab model_tools.activations text=hi --handle --json | "$SEER_PYTHON" -c 'import json, sys; print(json.load(sys.stdin)["id"])')
"$SEER" call lab model_tools.pool states=@handle:"$handle" -o pooled.npy
test "$("$SEER" call lab model_tools.generate prompt=d tokens=2 -r 2>/dev/null | xargs)" = "d-0 d-1"
test "$("$SEER" call lab model_tools.status --id the-same-1)" = "$("$SEER" call lab model_tools.status --id the-same-1)"
id=$("$SEER" call lab model_tools.train steps=3 --detach -q)
test "$("$SEER" calls wait lab "$id" 2>/dev/null)" = 3
code() { local want=$1 got=0; shift; "$SEER" "$@" >/dev/null 2>err.txt || got=$?; test "$got" = "$want" || { echo "exit code $got of: $*"; cat err.txt; exit 1; }; }
code 4 call lab model_tools.genrate prompt=x
code 8 call lab model_tools.fail
code 2 call lab model_tools.fail value
code 124 call lab model_tools.train --timeout 0.5s
"$SEER" token new lab model_tools --function status --calls 1 -o guest.json
"$SEER" call --connection guest.json status
code 10 call --connection guest.json status
grep -q "1 calls have been made" err.txt
code 10 call --connection guest.json train

echo "=== MCP"
"$SEER" serve lab interface.py --as mcp --name tools --out . -q
"$SEER_PYTHON" - <<'P'
import itertools, json, subprocess
server = json.load(open("mcp.json"))["mcpServers"]["tools"]
p = subprocess.Popen([server["command"], *server["args"], "--wait", "1s"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
numbers = itertools.count(1)
def ask(method, **params):
    number = next(numbers)
    p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
    p.stdin.flush()
    for line in p.stdout:
        got = json.loads(line)
        if got.get("id") == number:
            return got["result"]
def begun(name, **arguments):
    return ask("tools/call", name=name, arguments=arguments)
def tool(name, **arguments):
    got = begun(name, **arguments)
    while "call" in got.get("structuredContent", {}) and got["structuredContent"]["state"] in ("queued", "running"):
        got = begun("call-result", call=got["structuredContent"]["call"])  # a slow computer: a plain call takes longer than --wait
    return got
ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "e2e", "version": "1"})
p.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
names = {t["name"] for t in ask("tools/list")["tools"]}
assert {"activations", "handle-read", "call-result", "call-cancel"} <= names, names
assert tool("generate", prompt="e")["structuredContent"] == {"result": ["e-0", "e-1", "e-2"]}
large = tool("activations", text="hello")["structuredContent"]
assert large["handle"]["shape"] == [12, 64, 64] and large["next"], large
read = tool("handle-read", handle=large["handle"]["id"], index="0, 0, 0:3")["structuredContent"]
assert read == {"result": [5, 6, 7]}, read
pooled = tool("pool", states={"handle": large["handle"]["id"]})["structuredContent"]
assert pooled["handle"]["shape"] == [64, 64], pooled
long = begun("train")["structuredContent"]
while "step" not in long.get("output_tail", ""):
    long = begun("call-result", call=long["call"])["structuredContent"]
assert long["state"] == "running", long
tool("end_training")
result = tool("call-result", call=long["call"])["structuredContent"]
assert result["result"] > 0 and result == tool("call-result", call=long["call"])["structuredContent"], result
cancelled = tool("call-cancel", call=begun("train")["structuredContent"]["call"])["structuredContent"]
assert cancelled["state"] == "cancelled", cancelled
failed = tool("fail")
assert failed["isError"] and "ünïcode" in failed["content"][0]["text"], failed
p.stdin.close()
assert p.wait(300) == 0
print("mcp: all as documented")
P
"$SEER" down lab -q

echo "=== a run, and the run again"
"$SEER" run --yes seer.yaml -q >ran.txt
grep -Fx 'shape (12, 64, 64) a-0 a-1' ran.txt
grep -F 'Refused' ran.txt | grep 'tokens of generate must be at most 5'
"$SEER" replay runs/latest -q >again.txt
cmp ran.txt again.txt
cat >other.py <<'P'
import model_tools
print(model_tools.activations("hello").mean())
try:
    model_tools.activations("other")
except LookupError as e:
    print(e)
P
"$SEER" replay runs/latest --yes --set 'workspace.files=[other.py]' -q -- python3 other.py | tee other.txt
grep -q 'the record has no call of activations with these arguments' other.txt
test "$("$SEER" ls --json)" = "[]"
