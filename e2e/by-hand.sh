# The way a person goes who has only the binary: up, serve as a library, import it
# in a plain Python, serve as MCP tools, call them with the official inspector, down.
cp -r "$TOP/examples/induction-heads" "demo with spaces é"
cd "demo with spaces é"
id=$("$SEER" up seer.yaml --name by-hand --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["id"])')
trap '"$SEER" down --all >/dev/null' EXIT
"$SEER" ls | grep -q by-hand

"$SEER" serve by-hand interface.py --as library --name model_tools --out lib
PYTHONPATH=lib /usr/bin/python3 - <<'P'
import inspect, model_tools
info = model_tools.get_model_info()
assert info["num_layers"] >= 2, info
assert "num_layers" in str(info)
print("library:", info)
P

"$SEER" serve by-hand interface.py --as mcp --name tools --out mcp
inspect() { npx --yes @modelcontextprotocol/inspector@0.17 --cli "$@"; }
config=$(ls mcp/*.json | grep -v connection | head -n 1)
inspect --config "$config" --server tools --method tools/list | grep -q get_model_info
inspect --config "$config" --server tools --method tools/call --tool-name get_model_info | tee call.json | grep -q structuredContent

"$SEER" exec "$id" -- python3 -c 'print("in the sandbox")' | grep -q 'in the sandbox'
"$SEER" down by-hand
"$SEER" ls --json
test -z "$(pgrep -f "$id" || true)"
