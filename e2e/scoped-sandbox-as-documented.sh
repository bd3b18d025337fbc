# The guide's own interface code, unchanged, on a model of the name that it asks for.
example=$TOP/examples/scoped-sandbox
export SEER_PYTHON
SEER_PYTHON=$(flock "$TOP/.tools/scoped-sandbox.lock" "$example/prepare")
cp "$example"/testdata/as-documented/* .
mkdir google
cp -aL "$example/model" google/gemma-2-9b
"$SEER" run --yes seer.yaml
grep -Fx -- '- **num_layers**: 6' runs/latest/outputs/report.md
grep -F '384 numbers' runs/latest/outputs/report.md
