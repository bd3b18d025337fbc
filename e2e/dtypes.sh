# Tensors with torch, NumPy and ml_dtypes all installed: each kind in the code of values, then
# from a sandbox to a program with torch and back, and to one without. A value that a
# caller without torch holds as an array becomes the same tensor again.
version=0.5.4
home=$(eval echo "~$(id -un)") # for the cache of pip
types=$TOP/.tools/ml_dtypes-$version
if [ ! -d "$types" ]; then
  rm -rf "$types.part"
  HOME=$home /usr/bin/python3 -m pip install -q --disable-pip-version-check --root-user-action ignore --no-deps --target "$types.part" "ml_dtypes==$version"
  mv "$types.part" "$types"
fi
work=$PWD
cd "$TOP/engine/python"
PYTHONPATH=$types /usr/bin/python3 -B -m unittest -v tests/test_values_libraries.py >"$work/said" 2>&1 || {
  cat "$work/said"
  exit 1
}
for test in passing_on torch refusals staging; do
  grep -q "test_of_$test" "$work/said" || { echo "torch, NumPy and ml_dtypes were not tested together: no $test" >&2; exit 1; }
done

cd "$work"
export SEER_PYTHON=/usr/bin/python3
trap '"$SEER" down --all >/dev/null || true' EXIT
printf 'name: tensors\nsandbox: {timeout: 20m}\n' >tensors.yaml
"$SEER" up --yes tensors.yaml --name tensors -q >/dev/null
"$SEER" serve tensors "$TOP/e2e/dtypes/interface.py" --as library --name tools --out . >/dev/null
PYTHONPATH=.:$types /usr/bin/python3 -B "$TOP/e2e/dtypes/client.py"
PYTHONPATH=. /usr/bin/python3 -B -S "$TOP/e2e/dtypes/without.py"
# People and agents see numbers and lists, as ever.
"$SEER" call tensors tools.same 'value=[0.5, 2]' | tr -d ' \n' | grep -qx '\[0.5,2.0\]'
"$SEER" call tensors tools.made dtype=bfloat16 | tr -d ' \n' | grep -q '"number":17.0,'
"$SEER" down tensors -q >/dev/null

# scripts/check-gpu has no GPU here: it says so, and its checks are tried on the CPU.
printf '#!/bin/sh\n' >nvidia-smi && chmod +x nvidia-smi
code=0
PATH=.:$PATH "$TOP/scripts/check-gpu" 2>no-gpu.txt || code=$?
[ $code = 3 ] && [ "$(cat no-gpu.txt)" = 'check-gpu: this machine has no NVIDIA GPU that works: nvidia-smi finds none; nothing was checked' ]
SEER_CHECK_DEVICE=cpu SEER_CHECK_MB=8 PYTHONPATH=$types "$TOP/scripts/check-gpu" >check.txt 2>&1 || { cat check.txt && exit 1; }
for row in 'bubblewrap: tensors, slices, generators, 8 MB | ok' 'gvisor: tensors, slices, generators, 8 MB | ok' 'nothing is left | ok' 'fork -n 2 | not possible'; do
  grep -qF "$row" check.txt || { cat check.txt && echo "check-gpu has no row: $row" && exit 1; } >&2
done
