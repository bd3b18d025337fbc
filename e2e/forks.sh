# Saved processes and forks in gVisor: a service with state and a notebook's kernel with an
# array of 500 MB go on in other sandboxes, with keys and random numbers of their own.
# Needs runsc (scripts/setup e2e) and an index of Python packages.
ordinary= # the folder of an ordinary user
trap '"$SEER" down --all >/dev/null 2>&1 || true; rm -rf ${ordinary:+"$ordinary"}' EXIT
memory=$HOME/.local/state/seer/local/memory # where processes are saved first
not() { if "$@" >said 2>&1; then echo "this was not to succeed: $*"; cat said; exit 1; fi; }
is() { [ "$2" = "$3" ] || { echo "$1: got \"$2\", not \"$3\""; exit 1; }; }
other() { [ "$2" != "$3" ] || { echo "$1: both have \"$2\""; exit 1; }; }
show() { "$SEER" show "$1" --json | python3 -c "import json,sys; print(json.load(sys.stdin)$2)"; }
goes_on() { # SANDBOX AFTER-WHAT: its service answers again
  local tries=0
  until timeout 20 "$SEER" call "$1" state.count >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || { echo "$2: the sandbox does not go on"; exit 1; }
    sleep 2
  done
}
again() { # WHAT COMMAND…: until it succeeds
  local end=$((SECONDS + 300))
  until "${@:2}"; do
    [ $SECONDS -lt $end ] || { echo "not within minutes: $1"; exit 1; }
    sleep 0.2
  done
}
# Whoever was killed while it saved may have left a runsc that still writes.
swept() { "$SEER" gc >/dev/null && [ -z "$(ls "$memory" 2>/dev/null)" ]; }
names() { "$SEER" ls --json | python3 -c 'import json,sys; print(*(s["name"] for s in json.load(sys.stdin)))'; }
token() { python3 -c "import json; print(json.load(open('$1'))['token'])"; }

cat >state.py <<'P'
import random, time
state = {"n": 0}
random.seed(7)
@expose
def count() -> int:
    state["n"] += 1
    return state["n"]
@expose
def draw() -> float:
    return random.random()
@expose
def long() -> int:
    time.sleep(600)
    return 1
P
cat >forks.yaml <<'Y'
sandbox: {isolation: gvisor, network: none, timeout: 4h}
Y
"$SEER" up --yes forks.yaml --name lab
"$SEER" serve lab state.py --out serving >/dev/null
is "the first call" "$("$SEER" call lab state.count)" 1
"$SEER" exec lab -- sh -c 'echo kept >/workspace/file; ln -s file /workspace/link'
"$SEER" call lab state.long >long.out 2>&1 &
caller=$!
until "$SEER" calls ls lab 2>/dev/null | grep -q running; do
  kill -0 "$caller" || { cat long.out; exit 1; }
  sleep 0.2
done

"$SEER" snapshot lab mem --memory
kill -TERM "$caller" || { cat long.out; exit 1; } # cancels it in the original; in a copy it does not go on
wait "$caller" || true
is "the original goes on" "$("$SEER" call lab state.count)" 2
"$SEER" snapshots verify mem
"$SEER" up --yes forks.yaml --snapshot mem --name copy
is "state of the copy" "$("$SEER" call copy state.count)" 2
is "files of the copy" "$("$SEER" exec copy -- cat /workspace/link)" kept
of_copy=$("$SEER" call copy state.draw)
of_lab=$("$SEER" call lab state.draw)
other "random numbers" "$of_copy" "$of_lab"
original=$(token serving/state/connection.json)
answer() { # SANDBOX: the status with which it answers the original's token
  local socket
  socket=$(show "$1" "['endpoints'][0]['url']")
  curl -s -o said -w '%{http_code}' --unix-socket "${socket#unix:}" -H "Authorization: Bearer $original" http://x/v1/services/state
}
is "a token of the original at the original" "$(answer lab)" 200
is "a token of the original at the copy" "$(answer copy)" 401

"$SEER" fork lab -n 3 --name fork >ids
is "number of forks" "$(wc -l <ids)" 3
for i in 1 2 3; do
  is "state of fork $i" "$("$SEER" call "fork-$i" state.count)" 3
  "$SEER" call "fork-$i" state.draw
done >draws
is "different random numbers" "$(sort -u draws | wc -l)" 3
"$SEER" down fork-1
is "another fork goes on" "$("$SEER" call fork-2 state.count)" 4
"$SEER" down --all >/dev/null

# One file, taken in under another name, and one of whose bytes is another one.
"$SEER" snapshots export mem mem.tar
"$SEER" snapshots rm mem
"$SEER" snapshots import mem.tar --name again
refused=0
"$SEER" up --yes forks.yaml --snapshot again --name again 2>/dev/null || refused=$?
is "processes that were signed under another name" $refused 15
"$SEER" snapshots trust again
"$SEER" up --yes forks.yaml --snapshot again --name again
is "state from a file" "$("$SEER" call again state.count)" 2
"$SEER" down again
cat >open.yaml <<'Y'
sandbox: {isolation: gvisor, network: open, timeout: 4h}
Y
cat >bubble.yaml <<'Y'
sandbox: {isolation: bubblewrap, network: none, timeout: 4h}
Y
not "$SEER" up --yes open.yaml --snapshot again
grep -q "open.yaml:1: sandbox.network: .*have the network none.*set sandbox.network: none" said
not "$SEER" up --yes bubble.yaml --snapshot again
grep -q "bubble.yaml:1: sandbox.isolation: .*isolation gvisor only" said
"$SEER" up --yes open.yaml --name open
not "$SEER" fork open
grep -q "network: none" said
"$SEER" up --yes bubble.yaml --name bubble
not "$SEER" snapshot bubble x --memory
grep -q "isolation: gvisor" said
# A program that listens on a socket outside is named as the reason, and the sandbox goes on.
"$SEER" up --yes forks.yaml --name sockets
"$SEER" exec sockets -- sh -c 'setsid python3 -c "import socket, time; s = socket.socket(socket.AF_UNIX); s.bind(\"/tmp/s\"); s.listen(); time.sleep(600)" >/dev/null 2>&1 &'
again "a socket" "$SEER" exec sockets -- test -S /tmp/s
not "$SEER" snapshot sockets x --memory
grep -q "socket" said
"$SEER" exec sockets -- true
is "nothing half visible" "$("$SEER" snapshots ls --json | python3 -c 'import json,sys; print([s["name"] for s in json.load(sys.stdin)])')" "['again']"

# Killed in the middle: the sandbox goes on by itself.
"$SEER" down --all >/dev/null
"$SEER" up --yes forks.yaml --name killed
"$SEER" serve killed state.py --out killed >/dev/null
for pause in 0.15 0.4; do
  "$SEER" snapshot killed half --memory >/dev/null 2>&1 &
  sleep $pause
  kill -9 $! 2>/dev/null || true
  wait $! 2>/dev/null || true
  goes_on killed "killed after $pause s"
  "$SEER" snapshots rm half 2>/dev/null || true
done
again "an empty $memory" swept
"$SEER" down --all >/dev/null

# The disk is full: that of the snapshots, and that on which processes are saved first.
"$SEER" up --yes forks.yaml --name disk
"$SEER" serve disk state.py --out disk >/dev/null
"$SEER" exec disk -- sh -c 'head -c 40000000 /dev/urandom >big'
mkdir -p small "$memory"
full() { bwrap --dev-bind / / --size 20971520 --tmpfs "$1" env "${@:2}" "$SEER" snapshot disk full --memory >said 2>&1; }
for where in "$PWD/small" "$memory"; do
  code=0
  full "$where" "XDG_DATA_HOME=$PWD/small" || code=$?
  is "the exit code of a full disk" "$code" 14
  grep -qi "space" said
  "$SEER" call disk state.count >/dev/null
done
is "nothing half visible" "$("$SEER" snapshots ls --json | python3 -c 'import json,sys; print([s["name"] for s in json.load(sys.stdin)])')" "['again']"
[ -z "$(ls "$memory" 2>/dev/null)" ]

# Stopped at any moment, by the user or for good: what was begun ends, names are free again.
"$SEER" snapshot disk whole --memory >/dev/null
broken() { # SIGNAL SECONDS COMMAND…
  setsid "$SEER" "${@:3}" >said 2>&1 &
  sleep "$2"
  kill "-$1" $! 2>/dev/null || true
  wait $! 2>/dev/null || true
  goes_on disk "$*"
  "$SEER" snapshots rm half >/dev/null 2>&1 || true
  for name in half-1 half-2; do "$SEER" down $name >/dev/null 2>&1 || true; done
  again "an empty $memory after $*" swept
  is "what lives after $*" "$(names)" disk
}
used() { # AFTER-WHAT: at once; but the program waits only 30 s for who still saves, which a slow machine may exceed
  local begun got
  for _ in $(seq 10); do
    begun=$SECONDS
    got=$(timeout 90 "$SEER" exec disk -- echo on) || true
    [ "$got" != on ] && [ $((SECONDS - begun)) -ge 30 ] || break
  done
  is "$1" "$got" on
}
for pause in 0.2 0.8 2; do
  broken INT $pause fork disk -n 2 --name half
  broken INT $pause snapshot disk half --memory
  broken INT $pause up forks.yaml --snapshot whole --name half-1
  broken KILL $pause up forks.yaml --snapshot whole --name half-1
done
broken KILL 0.8 fork disk -n 2 --name half
# At each moment of the parking itself: the sandbox is used, and saved, at once.
for step in $(seq 20); do
  pause=$(python3 -c "print($step * 0.02)")
  for signal in INT KILL; do
    setsid "$SEER" snapshot disk half --memory >said 2>&1 &
    sleep "$pause"
    kill "-$signal" $! 2>/dev/null || true
    wait $! 2>/dev/null || true
    used "after $signal at $pause s"
    "$SEER" snapshots rm half >/dev/null 2>&1 || true
  done
done
"$SEER" snapshots verify whole again
"$SEER" fork disk -n 2 --name half >/dev/null
"$SEER" call half-2 state.count >/dev/null
"$SEER" down --all >/dev/null

# Files go from gVisor to bubblewrap and back.
"$SEER" up --yes forks.yaml --name files
"$SEER" exec files -- sh -c 'echo one >"a é"; ln -s "a é" link; mkdir -p ~/kept; echo two >~/kept/x; chmod 750 ~/kept'
"$SEER" snapshot files from-gvisor
"$SEER" up --yes bubble.yaml --snapshot from-gvisor --name there
is "files in bubblewrap" "$("$SEER" exec there -- sh -c 'cat link ~/kept/x; stat -c %a ~/kept; echo three >new')" $'one\ntwo\n750'
"$SEER" snapshot there from-bubblewrap
"$SEER" up --yes forks.yaml --snapshot from-bubblewrap --name back
is "files in gVisor again" "$("$SEER" exec back -- sh -c 'cat link ~/kept/x new; stat -c %a ~/kept')" $'one\ntwo\nthree\n750'
"$SEER" down --all >/dev/null

# An ordinary user has forks and saved processes as well.
if [ "$(id -u)" = 0 ]; then
  ordinary=$(mktemp -d /tmp/seer-XXXXXX) # where an ordinary user may look, and short enough for sockets
  mkdir -m 700 "$ordinary/run" "$ordinary/bin"
  cp -r "$TOP"/bin/{seer,runsc,runtime,plugins} "$ordinary/bin"
  cp state.py forks.yaml "$ordinary"
  cat >"$ordinary/try.sh" <<'S'
set -euo pipefail
cd "$HOME"
trap '"$SEER" down --all >/dev/null 2>&1 || true' EXIT
"$SEER" up --yes forks.yaml --name lab
"$SEER" serve lab state.py --out serving >/dev/null
"$SEER" call lab state.count
"$SEER" fork lab -n 2 --name f
"$SEER" snapshot lab mem --memory
"$SEER" up --yes forks.yaml --snapshot mem --name r
[ "$("$SEER" call f-1 state.count) $("$SEER" call f-2 state.count) $("$SEER" call r state.count)" = "2 2 2" ]
"$SEER" down --all
"$SEER" gc
S
  chown -R 65534:65534 "$ordinary"
  setpriv --reuid=65534 --regid=65534 --clear-groups env -i PATH="$PATH" HOME="$ordinary" XDG_RUNTIME_DIR="$ordinary/run" SEER="$ordinary/bin/seer" SEER_E2E="$SEER_E2E" bash "$ordinary/try.sh"
  rm -rf "$ordinary"
fi

# A kernel with 500 MB, in a notebook.
cat >kernel.yaml <<'Y'
sandbox: {isolation: gvisor, network: none, timeout: 4h, execution_mode: notebook, python_packages: [numpy]}
Y
cat >cell.py <<'P'
import json, sys, time, urllib.parse, urllib.request
url, mode, code = sys.argv[1:]
base, _, query = url.partition("?")
token = urllib.parse.parse_qs(query)["token"][0]
def ask(method, path, body=None, plain=False):
    data = json.dumps(body).encode() if body is not None else None
    r = urllib.request.Request(base + "seer/v1" + path, data, {"Authorization": "Bearer " + token}, method=method)
    with urllib.request.urlopen(r, timeout=600) as f:
        return f.read().decode() if plain else json.loads(f.read())
if mode == "new":
    session = ask("POST", "/sessions", {"mode": "new", "name": "x"})["session"]["id"]
else:
    session = ask("GET", "/sessions")["sessions"][0]["id"]
execution = ask("POST", "/sessions/%s/cells" % session, {"type": "code", "source": code, "run": True})["execution"]["id"]
while ask("GET", "/executions/" + execution)["state"] in ("queued", "running"):
    time.sleep(0.05)
print(ask("GET", "/executions/%s/text" % execution, plain=True).strip())
P
cell() { python3 cell.py "$(show "$1" "['environment']['jupyter_url']")" "$2" "$3"; }
"$SEER" up --yes kernel.yaml --name kernel
is "a large array" "$(cell kernel new 'import numpy as np, random; a = np.arange(500 << 17); np.random.seed(1); random.seed(1); print(a.nbytes)')" 524288000
url=$(show kernel "['environment']['jupyter_url']")
time "$SEER" snapshot kernel kernel --memory
time "$SEER" up --yes kernel.yaml --snapshot kernel --name restored
is "the array of the copy" "$(cell restored old 'print(int(a[-1]))')" 65535999
draws='print(random.random(), np.random.rand())'
of_copy=$(cell restored old "$draws")
of_original=$(cell kernel old "$draws")
other "random numbers of kernels" "$of_copy" "$of_original"
own=$(show restored "['environment']['jupyter_url']") # its path is another one, too
other "paths of Jupyter" "$(cut -d/ -f4 <<<"$own")" "$(cut -d/ -f4 <<<"$url")"
not python3 cell.py "${own%%token=*}token=${url##*token=}" old 1
grep -q 403 said
"$SEER" down restored # three arrays at once are enough
time "$SEER" fork kernel -n 2 --name k
is "the array of a fork" "$(cell k-2 old 'print(int(a[-1]))')" 65535999
"$SEER" down --all >/dev/null
