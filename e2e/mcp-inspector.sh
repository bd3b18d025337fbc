# Functions as MCP tools, seen by the official inspector: what is listed, what a
# call returns, and what a failed one does.
"$SEER" init exp >/dev/null
cat >tools.py <<'P'
@expose
def add(a: int, b: int = 1) -> int:
    """Adds two numbers."""
    return a + b

@expose
def info() -> dict:
    return {"layers": 2}

@expose
def fail():
    raise ValueError("no layer 9")
P
"$SEER" up --yes exp/seer.yaml --name inspected --quiet
trap '"$SEER" down --all >/dev/null || true' EXIT
"$SEER" serve inspected tools.py --as mcp --name tools --out .
export MCP_INSPECTOR_SECRET_STORE=memory
inspector=$(bash "$TOP/e2e/mcp/npm.sh" inspector)/node_modules/.bin
inspect() {
  PATH=$inspector:$PATH mcp-inspector --cli --config mcp.json --server tools "$@"
}

inspect --method tools/list >list.json
inspect --method tools/call --tool-name add --tool-arg a=2 --tool-arg b=3 >add.json
inspect --method tools/call --tool-name info >info.json
inspect --method tools/call --tool-name fail >fail.json || true # a tool error may be its exit code
python3 - <<'P'
import json
read = lambda name: json.load(open(name))
tools = {t["name"]: t for t in read("list.json")["tools"]}
assert set(tools) == {"add", "info", "fail", "handle-read", "call-result", "call-cancel"}, tools
assert tools["add"]["description"] == "Adds two numbers."
assert tools["add"]["inputSchema"]["required"] == ["a"]
assert tools["add"]["outputSchema"]["anyOf"][0]["properties"]["result"]["type"] == "integer"
assert read("add.json")["structuredContent"] == {"result": 5}
assert read("info.json")["structuredContent"] == {"layers": 2}
failed = read("fail.json")
assert failed["isError"] and "ValueError: no layer 9" in failed["content"][0]["text"]
P
