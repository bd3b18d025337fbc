# Real agents, each headless and without any network, against a scripted model: they
# call the tools of a served interface through seer mcp, get a handle and look into it,
# an image, a call that takes longer than they wait, and an error. E2E_AGENTS="gemini opencode" chooses
# among them; agent-runs.sh does the same with all four, started by Seer.
TOOLS=$(bash "$TOP/e2e/mcp/npm.sh" agents)
export TOOLS
PYTHON=$("$TOP/scripts/python")
export PYTHON

"$SEER" init exp >/dev/null
"$SEER" up --yes exp/seer.yaml --name agents --quiet
trap '"$SEER" down --all >/dev/null || true' EXIT
"$SEER" serve agents "$TOP/e2e/agents/tools.py" --as mcp --name tools --out .
# The same functions as a skill, where each of them looks for skills.
"$SEER" serve agents "$TOP/e2e/agents/tools.py" --as skill --name see_red --out skill
for agent in claude opencode; do mkdir -p $agent.work && cp -r skill/.claude $agent.work/; done
for agent in codex gemini; do mkdir -p $agent.work && cp -r skill/.claude $agent.work/.agents; done
export CONNECTION=$PWD/tools.connection.json OUT=$PWD
for agent in ${E2E_AGENTS:-claude codex}; do
  unshare --map-root-user --net bash "$TOP/e2e/agents/alone.sh" "$agent" || { tail -n 20 "$agent.out" "$agent.err" "$agent.log" >&2 && exit 1; }
  "$PYTHON" -B "$TOP/e2e/agents/check.py" "$agent" "$agent.log"
done
