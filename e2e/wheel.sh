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
# and what a program starts ends with it.
system=$(go env GOOS)/$(go env GOARCH)
home=$(eval echo "~$(id -un)") # for the cache of pip
(cd "$TOP" && HOME=$home VERSION=0.0.0.dev0+e2e scripts/build-wheel "$system") >built 2>log || { cat log; exit 1; }
wheel=$TOP/$(tail -n 1 built)
python3 -m venv clean
clean/bin/python -m pip install -q --no-index --no-deps "$wheel"
rm "$wheel"
[ "$(env -u SEER_PROGRAM clean/bin/seer version --json | clean/bin/python -c 'import json, sys; print(json.load(sys.stdin)["version"])')" = 0.0.0.dev0+e2e ]
clean/bin/python -c 'import importlib.metadata, seer; assert seer.__version__ == importlib.metadata.version("seer-engine") == "0.0.0.dev0+e2e"'

cat >interface.py <<'PYTHON'
@expose
def double(x: int) -> int:
    return 2 * x
PYTHON
cat >program.py <<'PYTHON'
from seer.environment import SandboxConfig, ScopedSandbox

with ScopedSandbox(SandboxConfig(gpu=None, provider="local")) as scoped:
    model_tools = scoped.serve("interface.py", name="model_tools")
    print(model_tools.double(21), scoped.exec_python("print(6 * 7)").stdout.strip())
PYTHON
[ "$(env -u SEER_PROGRAM -u PYTHONPATH PATH=/usr/bin:/bin clean/bin/python program.py)" = "42 42" ]
[ "$(clean/bin/seer ls --json | grep -c '"state": *"running"')" = 0 ]
