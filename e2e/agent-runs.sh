# Real agents, each started by seer run with agent.provider, in an empty network namespace
# against a scripted model: the two guides of scoped functions (a library, MCP tools with a cache),
# MCP tools with handles and a call that outlasts the client, a notebook, an interrupted run, one whose program is killed, and one of which seer itself is. Their records are read by Inspect, bundled by its viewer, and are pages.
# Beside these, each has a call of 75 s and its limits: of turns, and of its own tools.
# E2E_AGENTS="claude codex" chooses among them.
TOOLS=$(bash "$TOP/e2e/mcp/npm.sh" agents)
JUPYTER=$TOP/.tools/jupyter-2.21.1/bin/python # it has all that Jupyter needs: no layer has to be built
INSPECT=$(bash "$TOP/e2e/inspect/venv.sh")/bin/python
export TOOLS INSPECT JUPYTER
trap '"$SEER" down --all >/dev/null || true' EXIT
mkdir -p "$HOME/.config/seer"
echo 'prices: {scripted: {input: 1, output: 2}}' >"$HOME/.config/seer/prices.yaml"
mkdir logs # for Inspect's viewer
slow=()
for agent in ${E2E_AGENTS:-claude codex gemini opencode}; do # all at once: they only wait
  unshare --map-root-user --net bash "$TOP/e2e/agent-runs/all.sh" "$agent" slow &
  slow+=($!)
done
for agent in ${E2E_AGENTS:-claude codex gemini opencode}; do
  unshare --map-root-user --net bash "$TOP/e2e/agent-runs/all.sh" "$agent"
done
for run in "${slow[@]}"; do wait "$run"; done
"$INSPECT" -B -m inspect_ai view bundle --log-dir logs --output-dir bundle >bundle.out 2>&1 || { cat bundle.out >&2 && exit 1; }
[ -s bundle/index.html ]
for log in logs/*.eval; do cmp "$log" "bundle/logs/${log##*/}"; done
[ "$("$SEER" ls --json)" = "[]" ]
