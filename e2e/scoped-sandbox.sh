# Seed-style experiment on a real embedding model with the real transformers.
cd "$TOP/examples/scoped-sandbox"
export SEER_PYTHON
SEER_PYTHON=$(flock "$TOP/.tools/scoped-sandbox.lock" ./prepare) # two scripts share what it makes
"$SEER_PYTHON" -m unittest # the interface and the agent, without Seer
rm -rf runs
"$SEER" run --yes seer.yaml
test -s runs/latest/outputs/report.md
cat runs/latest/outputs/report.md
