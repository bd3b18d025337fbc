# Real agents in whole sandboxes, each started by seer run in its own isolation without a
# network, its model a scripted one at its own loopback: a notebook task on a real Jupyter
# in gVisor and a shell task in bubblewrap. What the agents were told, what they left
# in outputs/ and the notebook that was saved is looked at.
# E2E_AGENTS="claude codex gemini opencode" runs all of them; e2e/agent-runs.sh starts each by its provider.
TOOLS=$(bash "$TOP/e2e/mcp/npm.sh" agents)
jupyter=$TOP/.tools/jupyterlab-4.6.6/bin/python
[ -x "$jupyter" ] || HOME=$(eval echo "~$(id -un)") "$TOP/scripts/setup" e2e
export SEER_PYTHON=$jupyter # it has all that Jupyter needs: no layer has to be built
trap '"$SEER" down --all >/dev/null || true' EXIT

mkdir -p tiny-model skills/probing-models
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
experiment() { # experiment AGENT TASK ISOLATION MODE
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
agent:
  command: [bash, .script/drive.sh, $1, $2]
  env: {AGENT_TIMEOUT: "${AGENT_TIMEOUT:-1500}"}
  prompt: Probe the tiny model.
Y
}
task() { # task AGENT TASK ISOLATION
  local name=$1-$2-$3 mode=notebook
  [ "$2" = notebook ] || mode=cli
  # The agents' programs are not in /usr here, so they come with the workspace, as links.
  mkdir -p "work-$name/.script" "work-$name/.tools"
  cp -al "$TOOLS/node_modules" "work-$name/.tools/" 2>/dev/null || cp -a "$TOOLS/node_modules" "work-$name/.tools/"
  cp "$TOP"/e2e/session-agents/{configure.py,drive.sh,"$2.yaml"} "work-$name/.script/"
  experiment "$1" "$2" "$3" "$mode" >"$name.yaml"
  "$SEER" run --yes "$name.yaml" >"$name.out" 2>"$name.err" || { tail -n 30 "$name.out" "$name.err" >&2 && exit 1; }
  "$jupyter" "$TOP/e2e/session-agents/check.py" "$1" "$2" "$3" "work-$name" "out-$name" || { tail -n 20 "$name.out" "$name.err" >&2 && exit 1; }
  rm -rf "work-$name/.tools"
}
agents=(${E2E_AGENTS:-claude})
for agent in "${agents[@]}"; do
  task "$agent" shell bubblewrap
  task "$agent" notebook gvisor # agent-runs.sh has one in bubblewrap
done
[ "$("$SEER" ls --json)" = "[]" ]
