# The tools of notebooks, seen by the official inspector and the official TypeScript
# client, against the real Jupyter: all an agent gets is the jupyter_url.
SDK=$(bash "$TOP/e2e/mcp/npm.sh" sdk)
export SDK
python=$(ls -d "$TOP"/.tools/jupyter-*/bin/python | tail -n 1)
mkdir work
umask 077
cat >config.json <<J
{"root": "$PWD/work", "notebooks_dir": "notebooks", "ip": "127.0.0.1", "port": 0, "token": "token-of-the-notebooks",
 "setup": [{"name": "model", "code": "model = 'prepared'", "hidden": true}]}
J
PYTHONPATH=$TOP/engine/python "$python" -m seer_notebook --config config.json 2>jupyter.log &
server=$!
cleanup() {
  kill "$server" && wait "$server" || true
}
trap cleanup EXIT
until grep -q 'listening at' jupyter.log; do kill -0 "$server" || exit 1; sleep 0.05; done
JUPYTER_URL="$(sed -n 's/^.*listening at //p' jupyter.log | head -n 1)?token=token-of-the-notebooks"
export JUPYTER_URL

cat >mcp.json <<J
{"mcpServers": {"notebook": {"command": "$SEER", "args": ["mcp", "--notebook", "env:JUPYTER_URL", "--out", "$PWD/out"], "env": {"JUPYTER_URL": "$JUPYTER_URL"}}}}
J
node "$TOP/e2e/notebook/client.mjs" mcp.json out
"$python" -c 'import glob, nbformat
for name in glob.glob("out/*.ipynb"): nbformat.validate(nbformat.read(name, as_version=4))'

# A cell prints 1 GB: nothing is lost, and the service's memory stays bounded.
"$python" "$TOP/e2e/notebook/much.py" "${JUPYTER_URL%\?token=*}" token-of-the-notebooks "$(cut -d ' ' -f 1 "/proc/$server/task/$server/children")"

# A wrong token is said before any agent begins.
if "$SEER" mcp --notebook "${JUPYTER_URL%token=*}token=wrong" --out out </dev/null 2>wrong; then
  exit 1
fi
grep -q 'refuses the token' wrong

export MCP_INSPECTOR_SECRET_STORE=memory
inspector=$(bash "$TOP/e2e/mcp/npm.sh" inspector)/node_modules/.bin
PATH=$inspector:$PATH mcp-inspector --cli --config mcp.json --server notebook --method tools/list >list.json
"$python" - <<'P'
import json
tools = {t["name"]: t for t in json.load(open("list.json"))["tools"]}
assert len(tools) == 17, sorted(tools)
assert tools["execute_code"]["inputSchema"]["required"] == ["code"]
assert tools["read_notebook"]["annotations"]["readOnlyHint"]
P
