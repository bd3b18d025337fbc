# Real agents, each started by run_agent of Python, in an empty network namespace against a
# scripted model: the library of the guide to scoped sandboxes, MCP tools with a skill and a call that outlasts the client, a notebook,
# and a generator that is closed while the model thinks. Each leaves the folder of a run.
# E2E_AGENTS="claude codex gemini opencode" runs all of them; agent-runs.sh does, from the command line.
TOOLS=$(bash "$TOP/e2e/mcp/npm.sh" agents)
JUPYTER=$(realpath "$TOP/.tools")/jupyter-2.21.1/bin/python # it has all that Jupyter needs: no layer has to be built
PYTHON=$("$TOP/scripts/python")
export TOOLS JUPYTER PYTHON
trap '"$SEER" down --all >/dev/null || true' EXIT
for agent in ${E2E_AGENTS:-claude}; do
  unshare --map-root-user --net bash "$TOP/e2e/python-agents/all.sh" "$agent"
done
