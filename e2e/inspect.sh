# Seer as a sandbox of Inspect AI, from the wheel: Inspect's own checks of a sandbox pass, a model
# calls exposed functions as tools, and an eval of 20 samples at once leaves nothing.
inspect=0.3.285
home=$(eval echo "~$(id -un)") # for the cache of pip
tools=$TOP/.tools/inspect-$inspect
if [ ! -d "$tools" ]; then
  rm -rf "$tools.part" && python3 -m venv "$tools.part"
  HOME=$home "$tools.part/bin/python" -m pip install -q "inspect_ai==$inspect" pytest
  mv "$tools.part" "$tools"
fi
(cd "$TOP" && HOME=$home VERSION=0.0.0.dev0+inspect scripts/build-wheel "$(go env GOOS)/$(go env GOARCH)") >built 2>log || { cat log; exit 1; }
"$tools/bin/python" -m pip install -q --no-index --no-deps --target installed "$TOP/$(tail -n 1 built)"
rm "$TOP/$(tail -n 1 built)"
export PYTHONPATH=$PWD/installed PATH=$PWD/installed/seer/_bin:$PATH

"$tools/bin/python" -B -m pytest -q -p no:cacheprovider "$TOP"/e2e/inspect/test_*.py
printf 'sandbox: {provider: local, isolation: bubblewrap, timeout: 1200, network: none}\n' >seer.yaml
[ "$("$tools/bin/python" -B "$TOP/e2e/inspect/evaluate.py" | tail -n 1)" = ok ]
[ "$(seer ls --json | grep -c '"state": *"running"')" = 0 ]
