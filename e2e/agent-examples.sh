# examples/agents, each with the real Claude Code in an empty network namespace, against the scripted
# model beside it. One report cites the calls, and the hidden model's name reaches no agent.
TOOLS=$(bash "$TOP/e2e/mcp/npm.sh" agents)
SEER_PYTHON=$("$TOP/scripts/python")
export TOOLS SEER_PYTHON
trap '"$SEER" down --all >/dev/null || true' EXIT
unshare --map-root-user --net bash "$TOP/e2e/agent-examples/all.sh"
