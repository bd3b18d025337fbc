# venv.sh: a Python environment in .tools that has inspect_ai, made once; its output is the folder.
# Its programs are called as modules: the paths in its scripts are those of where it was made.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
inspect=0.3.285
tools=$top/.tools/inspect-$inspect
mkdir -p "$top/.tools"
exec 9>"$top/.tools/inspect.lock"
if command -v flock >/dev/null; then flock 9; fi # scripts that run at the same time want the same
if [ ! -d "$tools" ]; then
  rm -rf "$tools.part" && python3 -m venv "$tools.part" >&2
  HOME=$(eval echo "~$(id -un)") "$tools.part/bin/python" -m pip install -q "inspect_ai==$inspect" pytest >&2 # HOME for the cache of pip
  mv "$tools.part" "$tools"
fi
echo "$tools"
