# The Python package with much at once: 50 sandboxes of one program, and an array of 1 GB through a
# served function, in bounded memory.
export SEER_PROGRAM=$SEER PYTHONPATH=$TOP/python
python=${SEER_PYTHON:-$("$TOP/scripts/python")}
"$python" -B "$TOP/e2e/python/many.py"
[ "$("$SEER" ls --json | grep -c '"state": *"running"')" = 0 ]
"$python" -B "$TOP/e2e/python/large.py"
