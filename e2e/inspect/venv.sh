# venv.sh [readers]: a Python environment in .tools that has inspect_ai, made once; its output is the
# folder. readers is one that also has Scout and Docent, which read Inspect's logs. Programs are
# called as modules: the paths in the scripts are those of where the environment was made.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
inspect=0.3.285 scout=0.6.1 docent=0.1.88 # a newer Scout wants a newer Inspect
tools=$top/.tools/inspect-$inspect packages=(pytest)
if [ "${1:-}" = readers ]; then tools=$top/.tools/inspect-readers-$inspect-$scout-$docent packages=("inspect_scout==$scout"); fi
mkdir -p "$top/.tools"
exec 9>"$top/.tools/inspect.lock"
if command -v flock >/dev/null; then flock 9; fi # scripts that run at the same time want the same
if [ ! -d "$tools" ]; then
  HOME=$(eval echo "~$(id -un)") # for the cache of pip
  rm -rf "$tools.part" && python3 -m venv "$tools.part" >&2
  "$tools.part/bin/python" -m pip install -q "inspect_ai==$inspect" "${packages[@]}" >&2
  # Docent's loader needs nothing of what the rest of Docent needs.
  [ "${1:-}" != readers ] || "$tools.part/bin/python" -m pip install -q --no-deps "docent==$docent" >&2
  mv "$tools.part" "$tools"
fi
echo "$tools"
