# A generated library and the Python package under mypy and pyright: nothing is wrong with the
# right programs, and every line of the others that is marked as wrong is reported, and no other.
# The library's right one then runs with every Python that is here, 3.8 to the newest.
SEER_PYTHON=$("$TOP/scripts/python")
mypy=2.4.1
home=$(eval echo "~$(id -un)") # for the cache of pip, and other Pythons
venv=$TOP/.tools/mypy-$mypy pyright=$(bash "$TOP/e2e/mcp/npm.sh" pyright)
if [ ! -d "$venv" ]; then
  rm -rf "$venv.part" && "$SEER_PYTHON" -m venv "$venv.part"
  HOME=$home "$venv.part/bin/python3" -m pip install -q "mypy==$mypy"
  mv "$venv.part" "$venv"
fi
"$SEER" init exp >/dev/null
"$SEER" up --yes exp/seer.yaml --name typed --quiet
trap '"$SEER" down --all >/dev/null || true' EXIT
"$SEER" serve typed "$TOP/e2e/types/tools.py" --as library --name typed --out . >/dev/null
cp "$TOP"/e2e/types/{right,wrong}{,_api}.py .
ln -s "$TOP/python/seer" seer
grep -Hn '# wrong' wrong*.py | cut -d: -f1,2 >expected

check() { # name, command: all programs at once
  "${@:2}" {right,wrong}{,_api}.py >"$1.out" 2>"$1.err" || true # it finds something
  grep -Eo '[a-z_]+\.py:[0-9]+(:[0-9]+ -)?:? error' "$1.out" | grep -Eo '[a-z_]+\.py:[0-9]+' | sort -u >"$1.found" || true
  if ! diff <(sort expected) "$1.found"; then
    cat "$1.out" "$1.err"
    return 1
  fi
}
(cd "$TOP/python" && "$venv/bin/python3" -m mypy --strict --cache-dir "$E2E_WORK/mypy" --exclude seer/inspect seer)
# The file has moved since its environment was made: the module, not its script.
check mypy "$venv/bin/python3" -m mypy --strict
check pyright "$pyright/node_modules/.bin/pyright"

ran=0
for python in /usr/bin/python3 "$home"/.pyenv/versions/3.*/bin/python3; do
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null || continue
  "$python" -W error right.py
  ran=$((ran + 1))
done
[ "$ran" -gt 0 ]
echo "checked by mypy $mypy and ${pyright##*/}; ran with $ran Pythons"
