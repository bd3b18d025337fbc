# The wheel in a virtual environment that has nothing else: the command and the package work,
# and what a program starts ends with it.
system=$(go env GOOS)/$(go env GOARCH)
home=$(eval echo "~$(id -un)") # for the cache of pip
(cd "$TOP" && HOME=$home scripts/build-wheel e2e "$system") >built 2>log || { cat log; exit 1; }
wheel=$TOP/$(tail -n 1 built)
python3 -m venv clean
clean/bin/python -m pip install -q --no-index --no-deps "$wheel"
rm "$wheel"
[ "$(env -u SEER_PROGRAM clean/bin/seer version --json | clean/bin/python -c 'import json, sys; print(json.load(sys.stdin)["version"])')" = e2e ]

cat >interface.py <<'PYTHON'
@expose
def double(x: int) -> int:
    return 2 * x
PYTHON
cat >program.py <<'PYTHON'
from seer.environment import SandboxConfig, ScopedSandbox

with ScopedSandbox(SandboxConfig(provider="local")) as scoped:
    model_tools = scoped.serve("interface.py", name="model_tools")
    print(model_tools.double(21), scoped.exec_python("print(6 * 7)").stdout.strip())
PYTHON
[ "$(env -u SEER_PROGRAM -u PYTHONPATH PATH=/usr/bin:/bin clean/bin/python program.py)" = "42 42" ]
[ "$(clean/bin/seer ls --json | grep -c '"state": *"running"')" = 0 ]
