# Real agents in whole sandboxes, each started by seer run in its own isolation without a
# network: a notebook task on a real Jupyter in gVisor and a shell task in bubblewrap. What the
# agents were told, what they left in outputs/ and the notebook that was saved is looked at.
# E2E_AGENTS="claude codex gemini opencode" runs all of them.
TOOLS=$(bash "$TOP/e2e/mcp/npm.sh" agents)
jupyter=$TOP/.tools/jupyterlab-4.6.6/bin/python
[ -x "$jupyter" ] || HOME=$(eval echo "~$(id -un)") "$TOP/scripts/setup" e2e
export SEER_PYTHON=$jupyter # it has all that Jupyter needs: no layer has to be built
export PATH=$TOOLS/node_modules/.bin:$PATH
export ANTHROPIC_API_KEY=none OPENAI_API_KEY=none GEMINI_API_KEY=none
trap '"$SEER" down --all >/dev/null || true' EXIT

mkdir -p tiny-model skills/probing-models "$HOME/.config/seer"
echo 'prices: {scripted: {input: 1, output: 2}}' >"$HOME/.config/seer/prices.yaml"
echo '{"model_type": "tiny"}' >tiny-model/config.json
echo 'a,b' >data.csv
cat >helper.py <<'P'
"""Greets whoever is probed."""


def greet(name: str) -> str:
    """Says hello to somebody."""
    return "hello " + name
P
cat >skills/probing-models/SKILL.md <<'S'
---
name: probing-models
description: How a model is probed in this test. Use when a model is to be probed.
---
Ask it what it sees.
S
experiment() { # experiment AGENT TASK ISOLATION MODE URL
  cat <<Y
name: probing
sandbox:
  execution_mode: $4
  isolation: $3
  network: none
  timeout: 40m
  models: [{name: ./tiny-model, var_name: tiny}]
workspace: {dir: ./work-$1-$2-$3, libraries: [helper.py], skills: [skills/probing-models], files: [data.csv], preload_models: false}
outputs: ./out-$1-$2-$3
agent: {provider: $1, model: scripted, base_url: "$5", timeout: 25m, prompt: Probe the tiny model.}
Y
}
task() { # task AGENT TASK ISOLATION
  local name=$1-$2-$3 mode=notebook status=0
  [ "$2" = notebook ] || mode=cli
  "$SEER" agent mock "$TOP/e2e/session-agents/$2.yaml" --log "$name.jsonl" >"$name.url" &
  local model=$!
  until [ -s "$name.url" ]; do kill -0 $model || exit 1; sleep 0.05; done
  experiment "$1" "$2" "$3" "$mode" "$(cat "$name.url")" >"$name.yaml"
  "$SEER" run --yes "$name.yaml" >"$name.out" 2>"$name.err" </dev/null || status=$?
  kill $model && wait $model || true
  [ $status -eq 0 ] || { tail -n 30 "$name.out" "$name.err" >&2 && exit 1; }
  "$jupyter" "$TOP/e2e/session-agents/check.py" "$1" "$2" "$3" "work-$name" "out-$name" "$name.jsonl" || { tail -n 20 "$name.out" "$name.err" >&2 && exit 1; }
}
agents=(${E2E_AGENTS:-claude})
for agent in "${agents[@]}"; do
  task "$agent" shell bubblewrap
  task "$agent" notebook gvisor # agent-runs.sh has one in bubblewrap
done
[ "$("$SEER" ls --json)" = "[]" ]
