# Arrays and tensors with torch, NumPy and ml_dtypes all installed: a value that a caller
# without torch holds as an array becomes the same tensor again.
version=0.5.4
home=$(eval echo "~$(id -un)") # for the cache of pip
types=$TOP/.tools/ml_dtypes-$version
if [ ! -d "$types" ]; then
  rm -rf "$types.part"
  HOME=$home /usr/bin/python3 -m pip install -q --disable-pip-version-check --root-user-action ignore --no-deps --target "$types.part" "ml_dtypes==$version"
  mv "$types.part" "$types"
fi
cd "$TOP/engine/python"
PYTHONPATH=$types /usr/bin/python3 -B -m unittest -v tests/test_values_libraries.py >"$OLDPWD/said" 2>&1 || {
  cat "$OLDPWD/said"
  exit 1
}
grep -q 'test_of_passing_on' "$OLDPWD/said" || { echo "torch, NumPy and ml_dtypes were not tested together" >&2; exit 1; }
