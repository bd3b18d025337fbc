# What the scripts share that use machines elsewhere. To be sourced. interface.py beside it is what
# their sandboxes serve as the library tools, at least.

# use_lab NAME makes the sandbox lab of lab.yaml, which has the port 8123, and uses its calls, a
# library of this name, commands, files, a shell and the port.
use_lab() {
  "$SEER" up lab.yaml --name lab --yes --json -q >up.json
  "$SEER" serve lab interface.py --as library --name "$1" --out lib -q >/dev/null
  test "$("$SEER" call lab tools.echo text=hi)" = '"hi"'
  library_echoes "$1" "from a library"
  "$SEER" exec lab -- sh -c 'echo kept >note'
  "$SEER" exec lab -- sh -c 'head -c 3000000 /dev/zero' | wc -c | grep -q 3000000
  echo 'echo "a shell reads $((40 + 2))"; exit' | "$SEER" exec -i lab -- bash | grep -qx 'a shell reads 42'
  "$SEER" cp lab:/workspace/note . >/dev/null
  grep -qx kept note
  "$SEER" exec lab -- sh -c 'nohup python3 -m http.server -b 127.0.0.1 8123 >/dev/null 2>&1 &'
  python3 - <<'P'
import json, time, urllib.request
url = next(e["url"] for e in json.load(open("up.json"))["endpoints"] if e["port"] == 8123)
for attempt in range(1000):
    try:
        assert urllib.request.urlopen(url + "/note").read() == b"kept\n"
        break
    except OSError:
        assert attempt < 999
        time.sleep(0.1)
P
}
library_echoes() { # NAME TEXT
  test "$(PYTHONPATH=lib python3 -c 'import importlib, sys; print(importlib.import_module(sys.argv[1]).echo(sys.argv[2]))' "$@")" = "$2"
}

# during EVENT ANSWER COMMAND… calls the function EVENT while the command runs, which prints the
# line ANSWER nevertheless. EVENT sees the process of the command as $call.
during() {
  local event=$1 answer=$2
  shift 2
  "$@" >slow.txt 2>slow.err &
  local call=$!
  sleep 1
  "$event"
  wait $call || { cat slow.err && return 1; }
  grep -qx "$answer" slow.txt
}
slow_call() { during "$2" '"done"' "$SEER" call lab tools.slow "seconds=$1"; } # SECONDS EVENT

# kill_waiting kills a seer that waits for a call of the sandbox lab: the call goes on.
kill_waiting() {
  local id
  id=$("$SEER" call lab tools.slow seconds=5 --detach 2>/dev/null)
  "$SEER" calls wait lab "$id" >/dev/null 2>&1 &
  sleep 1
  kill -9 $!
  wait $! 2>/dev/null || true
  test "$("$SEER" calls wait lab "$id" 2>/dev/null)" = '"done"'
}

# many_at_once N FILE makes the sandboxes many-1 … many-N of an experiment at once. All answer.
many_at_once() {
  local i failed='' starting=()
  for i in $(seq "$1"); do
    "$SEER" up "$2" --name "many-$i" --yes -q >"many-$i.txt" 2>&1 &
    starting+=($!)
  done
  for i in $(seq "$1"); do wait "${starting[$((i - 1))]}" || { cat "many-$i.txt"; failed=1; }; done
  test -z "$failed"
  for i in $(seq "$1"); do test "$("$SEER" call "many-$i" tools.echo "text=n$i")" = "\"n$i\""; done
}
