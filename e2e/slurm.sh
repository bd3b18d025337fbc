# Machines as jobs of a Slurm cluster, as docs/providers/slurm.md has it, with real daemons: calls and
# GPUs; a queue; a job that is cancelled, preempted or reaches its time limit, and a node that is
# lost; programs that are killed at each side; at the end nothing is left.
lacks=
[ "$(id -u)" = 0 ] || lacks="root's rights, for namespaces and daemons of several users"
for program in slurmctld slurmd munged sshd; do
  PATH=$PATH:/usr/sbin command -v $program >/dev/null || lacks="$program (packages slurmctld slurmd slurm-client munge openssh-server: scripts/setup e2e)"
done
[ -z "$lacks" ] || { echo "e2e/slurm.sh lacks $lacks" >&2; exit 1; }
export PATH=$PATH:/usr/sbin

LAB=$PWD/lab
mkdir -m 755 "$LAB"
chmod 755 "$PWD"
ssh-keygen -q -t ed25519 -N '' -f "$LAB/id"
SSH_PORT=$(python3 "$TOP/e2e/freeport.py")
SLURM_PORT=$((20000 + RANDOM % 9000))
export SSH_PORT SLURM_PORT SLURMD_TIMEOUT=10
if [ -n "${SLURM_DBD:-}" ]; then
  export SLURM_AGE=2 # the controller soon forgets jobs, which only accounting knows then
  for program in slurmdbd mariadbd; do
    command -v $program >/dev/null || { echo "e2e/slurm.sh with SLURM_DBD lacks $program (packages slurmdbd mariadb-server)" >&2; exit 1; }
  done
fi
"$TOP/e2e/slurm/cluster" "$LAB" 2 >"$LAB/log" 2>&1 &
cluster=$!
trap '"$SEER" down --all -q >/dev/null 2>&1 || true; kill -9 $cluster; wait $cluster 2>/dev/null || true' EXIT
await() { # what is to become true, within two minutes
  local n
  for n in $(seq 480); do ! eval "$1" || return 0; sleep 0.25; done
  echo "waited in vain: $1" >&2
  cat "$LAB/log" >&2
  login 'squeue -t all; tail -n 3 ~/.local/state/seer-slurm/*/log ~/.local/state/seer-slurm/*/state.json' >&2 || true
  return 1
}
await '[ -e "$LAB/ready" ]'

mkdir -p -m 700 "$HOME/.ssh" "$LAB/bin"
cat >"$HOME/.ssh/config" <<CONF
Host login
  HostName 127.0.0.1
  Port $SSH_PORT
  User alice
  IdentityFile $LAB/id
  IdentitiesOnly yes
  UserKnownHostsFile $HOME/.ssh/known_hosts
CONF
echo "[127.0.0.1]:$SSH_PORT $(cut -d' ' -f1,2 "$LAB/host.pub")" >"$HOME/.ssh/known_hosts"
# ssh reads the home of the password file, which is not this test's.
printf '#!/bin/sh\nexec %s -F %s "$@"\n' "$(command -v ssh)" "$HOME/.ssh/config" >"$LAB/bin/ssh"
chmod +x "$LAB/bin/ssh"
export PATH=$LAB/bin:$PATH SEER_SLURM_HOST=login SEER_PYTHON
SEER_PYTHON=$("$TOP/scripts/python")
login() { ssh login "$1" </dev/null; }
inside() { nsenter -t "$(pgrep -P $cluster)" -m -p -u -i "$@"; } # as root of the cluster
job() { login "squeue -h -t RUNNING,PENDING -o %i --sort=-i | head -n 1"; }
state() { "$SEER" ls --refresh --all --json 2>/dev/null | python3 -c '
import json, sys
rows = json.load(sys.stdin)
print(*[(r["state"], r.get("message", "")) for r in rows if r.get("name") == sys.argv[1]][-1:])' "$1"; }
# With control groups, Slurm kills all of a job at once, and the next job on the node removes the folder.
nothing_on_nodes() { ! login "[ '${SLURM_TRACK:-}' != cgroup ] && ls -d /tmp/seer-2001-* ||"' pgrep -u alice -f "[j]ob serve|[j]ob guard|[w]atchdog|[b]wrap "' >left.txt 2>/dev/null; }

"$SEER" offers --provider slurm --gpu '*' >offers.txt
grep -q 'login/gpu/a100' offers.txt
for wrong in partition=gpus gpu=H100; do
  case $wrong in partition*) more=(--set sandbox.provider_options.slurm.partition=gpus) ;; *) more=(--set sandbox.gpu=H100) ;; esac
  printf 'name: wrong\nsandbox: {provider: slurm}\n' >wrong.yaml
  if "$SEER" up wrong.yaml --yes -q "${more[@]}" >out.txt 2>err.txt; then cat out.txt; false; fi
  grep -Eq 'did you mean gpu|has no H100' err.txt || { cat err.txt; false; }
done

if [ -n "${SLURM_DBD:-}" ]; then
  printf 'name: wrong\nsandbox: {provider: slurm, provider_options: {slurm: {account: nobody}}}\n' >wrong.yaml
  if "$SEER" up wrong.yaml --yes -q >out.txt 2>err.txt; then cat out.txt; false; fi
  grep -q 'Invalid account.*set provider_options.slurm.account' err.txt || { cat err.txt; false; }
fi

cat >interface.py <<'P'
import os, time

@expose
def echo(text: str) -> str:
    return text

@expose
def slow(seconds: float) -> str:
    time.sleep(seconds)
    return "done"

@expose
def gpus() -> str:
    return os.environ.get("CUDA_VISIBLE_DEVICES", "") + " " + " ".join(sorted(n for n in os.listdir("/dev") if n.startswith("nvidia") and n[-1].isdigit()))
P
experiment() { # NAME, keys of sandbox
  printf 'name: %s\nsandbox: {provider: slurm, timeout: %s}\nserve: [{file: interface.py, expose_as: library, name: tools}]\n' "$1" "$2" >"$1.yaml"
}

# A machine with two GPUs, which are those of the job and no others.
experiment two "20m, gpu: A100, gpu_count: 2, cpu: 1, memory: 1"
"$SEER" up two.yaml --name two --yes -q >/dev/null
test "$("$SEER" call two tools.echo text=hi)" = '"hi"'
"$SEER" call two tools.gpus | tee gpus.txt | grep -q 'GPU-0000000[01]-.*,GPU-0000000[01]-.* nvidia0 nvidia1'
"$SEER" exec two -- sh -c 'head -c 3000000 /dev/zero' | wc -c | grep -q 3000000

# The connection is cut during a call, and what carries it is killed: the call goes on.
"$SEER" call two tools.slow seconds=6 >slow.txt &
slow=$!
sleep 1
inside pkill -9 -f 'sshd: alice@notty' || true
wait $slow
grep -q done slow.txt

# Others wait for what is taken, and say so; what was killed meanwhile is found by its key.
experiment four "20m, gpu: A100, gpu_count: 4"
"$SEER" up four.yaml --name four --yes -q >/dev/null
"$SEER" up four.yaml --name more --yes >more.txt 2>&1 &
more=$!
await 'grep -q "waits for" more.txt'
kill -9 $more
wait $more 2>/dev/null || true
await '"$SEER" gc >gc.txt 2>&1; [ "$(login "squeue -h -t PENDING -o %i")" = "" ]'
"$SEER" down two -q
"$SEER" ls | grep -q four

# The time limit, a cancelled job, a killed program on the node, a preempted job, a lost node.
ended() { # NAME, what the state is to say
  await '[[ "$(state '"$1"')" =~ '"$2"' ]]'
}
experiment short "1m, provider_options: {slurm: {partition: brief}}"
"$SEER" up short.yaml --name short --yes -q >/dev/null
experiment plain 20m
# Nobody looks at a job before the controller has forgotten it: sacct tells how it ended.
if [ -n "${SLURM_DBD:-}" ]; then
  "$SEER" up plain.yaml --name past --yes -q >/dev/null
  past=$(job)
  login "scancel $past"
  await '! login "squeue -h -t all -o %i" | grep -qx '"$past"
  login "sacct -n -X -P -j $past -o JobID,State,Account" | grep -qx "$past|CANCELLED by [0-9]*|gpulab"
  ended past 'stopped.*was.cancelled'
fi
"$SEER" up plain.yaml --name cancelled --yes -q >/dev/null
login "scancel $(job)"
ended cancelled stopped.*cancel
ended short 'stopped.*time.limit'
"$SEER" up plain.yaml --name killed --yes -q >/dev/null
login "pkill -9 -f 'job serve'"
ended killed 'failed.*killed'
ended four 'failed.*killed' # and all others
await nothing_on_nodes

experiment low "20m, isolation: none"
"$SEER" up low.yaml --name low --yes -q >/dev/null
"$SEER" exec low -- sh -c '(setsid sleep 777 >/dev/null 2>&1 &)'
login 'sbatch -p urgent -N2 --exclusive --wrap "sleep 20"' >/dev/null
ended low 'failed.*preempted'
await '! login "pgrep -f \"^sleep 777\"" >/dev/null'
await nothing_on_nodes
login 'scancel -u alice'
await '[ "$(login "sinfo -h -p gpu -t idle -o %D")" = 2 ]'

"$SEER" up plain.yaml --name lost --yes -q >/dev/null
node=$(login "squeue -h -o %N")
inside scontrol update nodename="$node" state=down reason=test
ended lost 'failed.*lost'
inside scontrol update nodename="$node" state=resume 2>/dev/null || true # it may be back by itself
await nothing_on_nodes

"$SEER" down --all -q
"$SEER" gc --provider slurm >/dev/null
test "$(login 'squeue -h; ls ~/.local/state/seer-slurm')" = ""
nothing_on_nodes
