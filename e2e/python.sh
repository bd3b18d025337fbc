# The Python package with every Python from 3.9 that is here, and with much at once: 50 sandboxes of
# one program, and an array of 1 GB through a served function, in bounded memory.
export SEER_PROGRAM=$SEER PYTHONPATH=$TOP/python
python=${SEER_PYTHON:-$("$TOP/scripts/python")}
home=$(eval echo "~$(id -un)") # for other Pythons
ran=0
for each in "$python" /usr/bin/python3 "$home"/.pyenv/versions/3.*/bin/python3; do
  "$each" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || continue
  "$each" -B -W error "$TOP/e2e/python/basics.py"
  ran=$((ran + 1))
done
[ "$ran" -gt 0 ]
"$python" -B "$TOP/e2e/python/many.py"
[ "$("$SEER" ls --json | grep -c '"state": *"running"')" = 0 ]
"$python" -B "$TOP/e2e/python/large.py"
