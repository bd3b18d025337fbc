# Seer as a sandbox of Inspect AI, from the wheel: Inspect's own checks of a sandbox pass, a model
# calls exposed functions as tools, and an eval of 20 samples at once leaves nothing.
home=$(eval echo "~$(id -un)") # for the cache of pip
tools=$(bash "$TOP/e2e/inspect/venv.sh")
(cd "$TOP" && HOME=$home VERSION=0.0.0.dev0+inspect scripts/build-wheel "$(go env GOOS)/$(go env GOARCH)") >built 2>log || { cat log; exit 1; }
"$tools/bin/python" -m pip install -q --no-index --no-deps --target installed "$TOP/$(tail -n 1 built)"
rm "$TOP/$(tail -n 1 built)"
export PYTHONPATH=$PWD/installed PATH=$PWD/installed/seer/_bin:$PATH

"$tools/bin/python" -B -m pytest -q -p no:cacheprovider "$TOP"/e2e/inspect/test_*.py
printf 'sandbox: {provider: local, isolation: bubblewrap, timeout: 1200, network: none}\n' >seer.yaml
[ "$("$tools/bin/python" -B "$TOP/e2e/inspect/evaluate.py" | tail -n 1)" = ok ]
[ "$(seer ls --json | grep -c '"state": *"running"')" = 0 ]
