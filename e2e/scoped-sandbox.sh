# Seed-style experiment on a real embedding model with the real transformers.
cd "$TOP/examples/scoped-sandbox"
./prepare
rm -rf outputs
"$SEER" run seer.yaml
test -s outputs/report.md
cat outputs/report.md
