# The way of a person who has only the binary: up, serve as a library, import it in a
# plain Python, serve as MCP tools, call them with the official inspector, down.
cp -r "$TOP/examples/induction-heads" "demo with spaces é"
cd "demo with spaces é"
"$SEER" up seer.yaml --name by-hand --json >up.json
id=$(python3 -c 'import json; print(json.load(open("up.json"))["id"])')
trap '"$SEER" down --all >/dev/null 2>&1 || true' EXIT
"$SEER" ls | grep by-hand

"$SEER" serve by-hand interface.py --as library --name model_tools --out lib
PYTHONPATH=lib python3 - <<'P'
import inspect, model_tools
info = model_tools.get_model_info()
assert info["layers"] == 2, info
assert list(inspect.signature(model_tools.predict).parameters)[:1] == ["tokens"]
print("library:", model_tools.predict("fox river fox", top_k=1))
P

"$SEER" serve by-hand interface.py --as mcp --name tools --out mcp
export MCP_INSPECTOR_SECRET_STORE=memory
inspector=$(bash "$TOP/e2e/mcp/npm.sh" inspector)/node_modules/.bin
inspect() {
  PATH=$inspector:$PATH mcp-inspector --cli --config mcp/mcp.json --server tools "$@"
}
inspect --method tools/list | grep '"name": "predict"'
inspect --method tools/call --tool-name predict --tool-arg "tokens=fox river fox" >call.json
python3 - <<'P'
import json
call = json.load(open("call.json"))
best = call["structuredContent"]["result"][0]
assert best["word"] == "river", best
print("inspector:", best)
P

"$SEER" serve by-hand interface.py --as prompt --name told --out prompt
grep -q 'predict' prompt/told.md

"$SEER" exec "$id" -- python3 -c 'print("in the sandbox")' | grep 'in the sandbox'
"$SEER" down by-hand
test "$("$SEER" ls --json)" = "[]"
