# all.sh: the four examples, in a network namespace of its own.
set -euo pipefail
ip link set lo up
export PATH=$TOOLS/node_modules/.bin:$PATH ANTHROPIC_API_KEY=none
mkdir -p "$HOME/.config/seer"
echo 'prices: {scripted: {input: 1, output: 2}}' >"$HOME/.config/seer/prices.yaml"
for name in audit steering checkpoints mcp; do
  cp -r "$TOP/examples/agents/$name" . # the runs are written beside the file
  "$SEER" agent mock "$name/script.yaml" --log "$name.jsonl" >"$name.url" &
  model=$!
  until [ -s "$name.url" ]; do kill -0 $model || exit 1; sleep 0.05; done
  status=0
  "$SEER" run --yes "$name/seer.yaml" --set agent.model=scripted \
    --set agent.base_url="$(cat "$name.url")" >"$name.out" 2>"$name.err" </dev/null || status=$?
  kill $model && wait $model || true
  if [ $status -ne 0 ]; then
    tail -n 40 "$name.out" "$name.err" >&2
    echo "$name: exit code $status" >&2
    exit 1
  fi
  "$SEER" runs show "$name/runs/latest" --json >"$name.json"
  "$SEER" runs export "$name/runs/latest" --html -o "$name.html"
  "$SEER_PYTHON" -B "$TOP/e2e/agent-examples/check.py" "$name"
done
[ "$("$SEER" ls --json)" = "[]" ]
