# Machines on a host that is reached by SSH, as docs/providers/ssh.md has it, with a real sshd
# behind a real bastion: the example has the results of a local run; calls survive a connection
# that is cut, a restarted sshd, a sleeping computer and killed programs; a terminal and a notebook
# work; at the end nothing is left. E2E_CUT is how many seconds sshd is away and this computer
# sleeps (2), E2E_MANY how many sandboxes start at once (10).
. "$TOP/e2e/ssh/lab.sh"
. "$TOP/e2e/machines/lib.sh"
trap '"$SEER" down --all -q >/dev/null 2>&1 || true; stop_sshd box bastion' EXIT
start_sshd box bastion
export SEER_PYTHON SEER_SSH_HOSTS=box
SEER_PYTHON=$("$TOP/scripts/python")

echo "== what there is, and a host that there is not"
"$SEER" offers --provider ssh --cpu --json >offers.json
grep -q '"box/local"' offers.json
printf 'name: away\nsandbox: {provider: ssh, provider_options: {ssh: {host: gone.invalid}}}\n' >away.yaml
if "$SEER" up away.yaml --yes -q >out.txt 2>err.txt; then cat out.txt && exit 1; fi
grep -q 'reach the host gone.invalid by SSH' err.txt
"$SEER" plan away.yaml --set 'sandbox.provider_options.ssh.host=box' >plan.txt
grep -q 'run on box, by ssh' plan.txt

echo "== a notebook, with a folder directly below /; its packages are installed meanwhile"
mkdir set && echo one >set/a.txt
cat >notebook.yaml <<'Y'
name: notebook
sandbox: {provider: ssh, timeout: 30m, execution_mode: notebook, local_dirs: [[set, /data]]}
Y
"$SEER" up notebook.yaml --name notebook --yes -q >notebook.log 2>&1 &
notebook=$!
cp notebook.yaml file.yaml
sed -i 's|local_dirs.*\]|local_files: [[set/a.txt, /a.txt]]|' file.yaml
if "$SEER" up file.yaml --yes -q >out.txt 2>err.txt; then cat out.txt && exit 1; fi
grep -q 'put it into a folder, such as /data/a.txt' err.txt || { cat err.txt && exit 1; }
echo "== the host looks at itself: all at once, with what to do"
"$SEER" doctor --provider ssh --set sandbox.network=none >checks.txt
for what in 'login to box' "Seer's program on box" 'python on box' 'isolation on box' 'state folder on box'; do grep -q "^ok  $what" checks.txt; done
if "$SEER" doctor --provider ssh --set sandbox.network=none --set sandbox.disk=900000 --set-string sandbox.python_version=3.99 >checks.txt 2>/dev/null; then cat checks.txt && exit 1; fi
grep -q '^!!  python 3.99 on box' checks.txt
grep -q '^!!  state folder on box' checks.txt
if "$SEER" up away.yaml --set 'sandbox.provider_options.ssh.host=box' --set-string sandbox.python_version=3.99 --yes -q >out.txt 2>err.txt; then exit 1; fi
grep -q 'python 3.99 on box: .*no python3.99' err.txt
"$SEER" doctor --provider local >checks.txt
grep -q '^--  local .*no checks of its own' checks.txt

echo "== the example, by way of the bastion: byte for byte what a local run gives"
cp -r "$TOP/examples/induction-heads" demo
"$SEER" run --yes demo/seer.yaml -q >local.txt
cp demo/runs/latest/outputs/report.md local.md
SEER_SSH_HOSTS=inner "$SEER" run --yes demo/seer.yaml -q --set sandbox.provider=ssh >ssh.txt
cmp demo/runs/latest/outputs/report.md local.md
cmp ssh.txt local.txt
grep -q 'Accepted publickey' "$LAB/bastion.log"

echo "== a sandbox that stays: calls, commands, files, a shell, a port"
cp "$TOP/e2e/machines/interface.py" .
cat >lab.yaml <<'Y'
name: lab
sandbox: {provider: ssh, timeout: 30m, ports: [8123], volumes: [{name: seer-shared, path: /shared}]}
Y
use_lab tools
"$SEER" exec lab -- sh -c 'cp note /shared; id -un' | grep -qx seer
python3 "$TOP/e2e/ssh/session.py" shell lab
test ! -e "$LAB/home/.ssh" # no key has got there

# slow_library is slow_call for the library, whose calls pass by no process of seer.
slow_library() {
  during "$2" 'done' env PYTHONPATH=lib python3 -c 'import sys, tools; print(tools.slow(float(sys.argv[1])))' "$1"
}
pause=${E2E_CUT:-2}
restart_sshd() { stop_sshd box && sleep "$pause" && start_sshd box; }
stopped() { # PID…: some may end by themselves, and all others go on afterwards
  kill -STOP "$@" 2>/dev/null || true
  sleep "$pause"
  kill -CONT "$@" 2>/dev/null || true
}
asleep() { # all of this computer, but not of the host
  local pids
  pids="$call $(pgrep -f "ssh -F $HOME/.ssh/config|forward $HOME" | xargs)"
  # shellcheck disable=SC2086
  stopped $pids
}
silent() { # the host takes what is sent to it, and answers nothing
  local pids
  pids=$(sshd_tree "$(cat "$LAB/box.pid")" | xargs)
  # shellcheck disable=SC2086
  stopped $pids
}
cut() { pgrep -f "ssh -F $HOME/.ssh/config" | xargs -r kill -9 2>/dev/null || true; } # some end by themselves
kill_forwarder() { kill -9 "$(pgrep -f "seer-runtime.* forward $HOME")"; }

wait $notebook || { cat notebook.log && exit 1; } # what comes now could cut its start
echo "== the connection is cut; sshd is restarted; what carries the ports is killed"
slow_call 4 cut
slow_call $((4 + pause)) restart_sshd
slow_library 4 cut
slow_library $((4 + pause)) restart_sshd
slow_call $((2 + pause)) asleep
slow_call $((2 + pause)) silent
slow_call 4 kill_forwarder
kill_forwarder
test "$("$SEER" call lab tools.echo text=again)" = '"again"'
library_echoes tools "on the same port"

echo "== a killed seer: its call goes on"
kill_waiting

echo "== the host is away for a while"
"$SEER" up lab.yaml --name leaves --yes -q --set 'sandbox.ports=[]' >/dev/null
stop_sshd box
cut
began=$SECONDS code=0
"$SEER" down leaves -q 2>err.txt || code=$?
[ $code = 6 ] && [ $((SECONDS - began)) -lt 60 ] && grep -q 'box.*could not be ended.*ends by itself at' err.txt || { cat err.txt && exit 1; }
mkdir noting # an ssh that notes what it is asked
printf '#!/bin/sh\necho "$@" >>%s/asked.txt\nexec %s/bin/ssh "$@"\n' "$PWD" "$LAB" >noting/ssh
chmod +x noting/ssh
PATH=$PWD/noting:$PATH "$SEER" ls >ls.txt
grep -q leaves ls.txt && [ ! -e asked.txt ] || { cat ls.txt asked.txt; exit 1; }
code=0
PATH=$PWD/noting:$PATH "$SEER" ls --refresh >ls.txt 2>err.txt || code=$?
[ -s asked.txt ]
[ $code = 6 ] && grep -q 'lab *unreachable' ls.txt && grep -q 'cannot be reached.* box' err.txt || { cat ls.txt err.txt && exit 1; }
start_sshd box
"$SEER" ls --refresh | grep -q 'lab *running'
code=0 # one of the hosts does not answer: the other one is cleaned nevertheless
SEER_SSH_HOSTS=box,gone "$SEER" gc --provider ssh --json >gc.txt 2>err.txt || code=$?
[ $code = 6 ] && grep -q '"leaves"' gc.txt && grep -q '"failed":\[.*gone' gc.txt || { cat gc.txt err.txt && exit 1; }

echo "== a start that is killed, at each step, leaves nothing"
printf 'name: dies\nsandbox: {provider: ssh, timeout: 30m}\nserve: [{file: interface.py, expose_as: library, name: tools}]\n' >dies.yaml
python3 "$TOP/e2e/ssh/kills.py" dies.yaml ssh dies true
"$SEER" ls >ls.txt
[ "$(grep -Ec '(lab|notebook) *running' ls.txt)" = 2 ] && [ "$(wc -l <ls.txt)" = 3 ] || { cat ls.txt notebook.log; "$SEER" ls --all --json; exit 1; }

echo "== a snapshot of files, from which another one starts"
"$SEER" snapshot lab saved >/dev/null
"$SEER" up dies.yaml --name again --snapshot saved --yes -q >/dev/null
"$SEER" exec again -- cat note | grep -qx kept
"$SEER" down again -q >/dev/null

echo "== the author of the plugin tries it on the host"
mkdir kit
cp "$TOP/bin/plugins/provider-ssh.wasm" kit
printf 'skip: {provider: a simulator tries it elsewhere}\n' >kit/conformance.yaml
"$SEER" plugin test kit/provider-ssh.wasm --live --max-cost 0.01 --quick --json >kit.json || { cat kit.json && exit 1; }
grep -q '"check":"live/running","status":"passed"' kit.json || { cat kit.json && exit 1; }

echo "== without isolation only when it is asked for"
cat >none.yaml <<'Y'
name: none
sandbox: {provider: ssh, timeout: 10m, isolation: none}
Y
"$SEER" up none.yaml --name none --yes -q >/dev/null
"$SEER" exec none -- sh -c 'echo "$HOME"' | grep -q "^$LAB/home"
"$SEER" down none -q >/dev/null

echo "== the notebook"
"$SEER" exec notebook -- cat /data/a.txt | grep -qx one
python3 "$TOP/e2e/ssh/session.py" notebook notebook
"$SEER" down notebook -q >/dev/null

echo "== many at once"
printf 'name: many\nsandbox: {provider: ssh, timeout: 20m}\nserve: [{file: interface.py, expose_as: library, name: tools}]\n' >many.yaml
many_at_once "${E2E_MANY:-10}" many.yaml

echo "== nothing is left"
"$SEER" down --all -q >/dev/null
grep -qx kept "$LAB/home/.local/share/seer/volumes/seer-shared/note" # a volume outlives sandboxes
"$SEER" gc --provider ssh >/dev/null
test ! -e "$LAB/home/.local/share/seer/volumes/seer-shared"
test -z "$(find "$LAB/home/.local/state/seer/local" -name '*.json')"
"$SEER" gc --provider ssh --dry-run >/dev/null
test -z "$(find "$LAB/home/.cache/seer" -type f ! -path '*/host/*')" # gc has cleaned the cache as well
for _ in $(seq 100); do
  left=$(pgrep -f "$LAB/home|forward $HOME" || true)
  [ -n "$left" ] || break
  sleep 0.2
done
test -z "$left" || { ps -o pid,args -p "$(xargs <<<"$left")"; exit 1; }
