# Real agents, each started by seer run with agent.provider, in an empty network namespace
# against a scripted model: a library, MCP tools with a call that outlasts the client, a notebook,
# an interrupted run, and one whose program is killed. Their records are read by Inspect, and as pages.
# E2E_AGENTS="claude codex" chooses among them.
TOOLS=$(bash "$TOP/e2e/mcp/npm.sh" agents)
JUPYTER=$TOP/.tools/jupyter-2.21.1/bin/python # it has all that Jupyter needs: no layer has to be built
INSPECT=$(bash "$TOP/e2e/inspect/venv.sh")/bin/python
export TOOLS INSPECT JUPYTER
trap '"$SEER" down --all >/dev/null || true' EXIT
for agent in ${E2E_AGENTS:-claude codex gemini opencode}; do
  unshare --map-root-user --net bash "$TOP/e2e/agent-runs/all.sh" "$agent"
done
