# all.sh AGENT: the programs of one agent, in a network namespace of its own.
set -euo pipefail
agent=$1
ip link set lo up
export PATH=$TOOLS/node_modules/.bin:$PATH SEER_PROGRAM=$SEER PYTHONPATH=$TOP/python
export ANTHROPIC_API_KEY=real-key-of-the-user OPENAI_API_KEY=real-key-of-the-user GEMINI_API_KEY=real-key-of-the-user
mkdir -p "$HOME/.config/seer"
echo 'prices: {scripted: {input: 1, output: 2}}' >"$HOME/.config/seer/prices.yaml"

one() { # one KIND SCRIPT
  local kind=$1 status=0
  "$SEER" agent mock "$2" --log "$agent-$kind.jsonl" >"$agent-$kind.url" &
  local model=$!
  until [ -s "$agent-$kind.url" ]; do kill -0 $model || exit 1; sleep 0.05; done
  mkdir -p "$agent-$kind"
  (cd "$agent-$kind" && exec "$PYTHON" -B "$TOP/e2e/python-agents/drive.py" "$agent" "$kind" "$(cat "../$agent-$kind.url")") \
    >"$agent-$kind.out" 2>"$agent-$kind.err" || status=$?
  kill $model
  if [ $status -ne 0 ]; then
    tail -n 30 "$agent-$kind.out" "$agent-$kind.err" >&2
    echo "$agent, $kind: exit code $status" >&2
    exit 1
  fi
  if [ "$kind" = mcp ]; then PYTHONPATH=$TOP/e2e/agents "$PYTHON" -B "$TOP/e2e/agents/check.py" "$agent" "$agent-$kind.jsonl"; fi
  tail -n 1 "$agent-$kind.out"
}
one library "$TOP/e2e/agent-runs/library.yaml"
one mcp "$TOP/e2e/agents/script.yaml"
SEER_PYTHON=$JUPYTER one notebook "$TOP/e2e/session-agents/notebook.yaml"
one closed "$TOP/e2e/agent-runs/hang.yaml"
