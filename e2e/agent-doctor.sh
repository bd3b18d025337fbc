# The real agents, tried by seer agent doctor in an empty network namespace: all checks pass, the
# user's key and instructions reach nobody, and nothing is left. opencode, which takes as long as the
# others together, is tried by agent-runs.sh alone; E2E_AGENTS="claude opencode" chooses.
TOOLS=$(bash "$TOP/e2e/mcp/npm.sh" agents)
PYTHON=$("$TOP/scripts/python")
export PATH=$TOOLS/node_modules/.bin:$PATH
canary="The canary of the user sings at noon."
for file in .claude/CLAUDE.md .codex/AGENTS.md .gemini/GEMINI.md .config/opencode/AGENTS.md; do
  mkdir -p "$HOME/$(dirname $file)" && echo "$canary" >"$HOME/$file"
done
export ANTHROPIC_API_KEY=own-key OPENAI_API_KEY=own-key GEMINI_API_KEY=own-key
for agent in ${E2E_AGENTS:-claude codex gemini}; do
  unshare --map-root-user --net sh -c 'ip link set lo up && exec "$@"' sh "$SEER" agent doctor "$agent" --json >"$agent.json" || { cat "$agent.json" >&2 && exit 1; }
done
"$PYTHON" - ${E2E_AGENTS:-claude codex gemini} <<'P'
import json, sys

for agent in sys.argv[1:]:
    (r,) = json.load(open(agent + ".json"))
    assert r["provider"] == agent, r
    bad = [f for f in r["findings"] if f["state"] != "ok"]
    assert r["state"] == "ok" and r["isolation"] == "bubblewrap" and not bad and len(r["findings"]) == 12, r
    configuration = next(f["detail"] for f in r["findings"] if f["check"] == "configuration")
    assert all(name in configuration for name in [".claude/CLAUDE.md", ".codex/AGENTS.md", ".gemini/GEMINI.md", "opencode/AGENTS.md"]), r
    print(r["title"], r["version"], round(r["seconds"]), "s")
P
[ "$("$SEER" ls --json)" = "[]" ]
[ "$("$SEER" runs ls --json)" = "[]" ]
[ -z "$(ls "$HOME/.local/state/seer/agents")" ]
