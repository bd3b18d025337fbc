# examples/scoped-sandbox/main.py as a user runs it, with the real Claude Code and the real
# transformers, in an empty network namespace: only the language model is a scripted one.
TOOLS=$(bash "$TOP/e2e/mcp/npm.sh" agents)
example=$TOP/examples/scoped-sandbox
export SEER_PYTHON
SEER_PYTHON=$(flock "$TOP/.tools/scoped-sandbox.lock" "$example/prepare")
cp "$example"/{main,interface,helpers}.py .
ln -s "$example/model" model
PYTHON=$("$TOP/scripts/python")
export TOOLS PYTHON
trap '"$SEER" down --all >/dev/null || true' EXIT
cat >alone.sh <<'A'
set -euo pipefail
ip link set lo up
"$SEER" agent mock "$TOP/examples/scoped-sandbox/testdata/script.yaml" --log log.jsonl >url &
model=$!
trap 'kill $model' EXIT
until [ -s url ]; do kill -0 $model || exit 1; sleep 0.05; done
export PATH=$TOOLS/node_modules/.bin:$PATH SEER_PROGRAM=$SEER PYTHONPATH=$TOP/python
ANTHROPIC_BASE_URL=$(cat url) ANTHROPIC_API_KEY=real-key-of-the-user "$PYTHON" -B main.py
A
unshare --map-root-user --net bash alone.sh >out 2>err || { tail -n 40 out err >&2; exit 1; }
grep -Fx 'The report is in outputs/report.md.' out
grep -Fx -- '- **num_layers**: 6' workspace/outputs/report.md
grep -F '(384 numbers)' workspace/outputs/report.md
"$SEER" runs show runs/latest >shown
grep -F claude shown
if grep -r real-key-of-the-user runs workspace log.jsonl; then exit 1; fi
