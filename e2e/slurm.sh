# Machines as jobs of a Slurm cluster, as docs/providers/slurm.md has it, with real daemons: the
# example has the results of a local run; calls and GPUs; a terminal, a notebook, a snapshot; a queue;
# a job that is cancelled, preempted or reaches its time limit, and a node that is lost; programs that
# are killed at each side and at each step; at the end nothing is left.
# E2E_CUT is how many seconds the login node is away (2).
# SLURM_TRACK=cgroup has Slurm follow processes by control groups; SLURM_DBD=1 has it keep accounts
# with limits, so that only sacct knows jobs which have ended: slurm-accounts.sh is this one with both.
. "$TOP/e2e/slurm/lab.sh"

pause=${E2E_CUT:-2}
"$SEER" offers --provider slurm --gpu '*' >offers.txt
grep -q 'login/gpu/a100' offers.txt
for wrong in partition=gpus gpu=H100; do
  case $wrong in partition*) more=(--set sandbox.provider_options.slurm.partition=gpus) ;; *) more=(--set sandbox.gpu=H100) ;; esac
  printf 'name: wrong\nsandbox: {provider: slurm}\n' >wrong.yaml
  if "$SEER" up wrong.yaml --yes -q "${more[@]}" >out.txt 2>err.txt; then cat out.txt; false; fi
  grep -Eq 'did you mean gpu|no node has 1 × H100' err.txt || { cat err.txt; false; }
done

if [ -n "${SLURM_DBD:-}" ]; then
  printf 'name: wrong\nsandbox: {provider: slurm, provider_options: {slurm: {account: nobody}}}\n' >wrong.yaml
  if "$SEER" up wrong.yaml --yes -q >out.txt 2>err.txt; then cat out.txt; false; fi
  grep -q 'you may not use the account nobody.*set provider_options.slurm.account to one of gpulab' err.txt || { cat err.txt; false; }
fi
# The cluster looks at itself, on a compute node only when asked to.
"$SEER" doctor --provider slurm --set sandbox.network=none --set sandbox.gpu=a100 >checks.txt
for what in 'login to login' 'partition .* on login' 'GPUs in the partition' "Seer's program on login"; do grep -q "^ok  $what" checks.txt; done
grep -q '^--  compute node' checks.txt
await '"$SEER" doctor --provider slurm --set sandbox.network=none --on-node >checks.txt; grep -q " on a node" checks.txt' # none may be free
for what in 'python on a node' 'isolation on a node' 'node-local scratch on a node'; do grep -q "^ok  $what" checks.txt; done
if "$SEER" doctor --provider slurm --set sandbox.provider_options.slurm.partition=gpus --set sandbox.timeout=700h >checks.txt 2>/dev/null; then cat checks.txt; false; fi
grep -q '^!!  partition gpus on login' checks.txt
await '[ "$(login "squeue -h")" = "" ]'

cat "$TOP/e2e/machines/interface.py" - >interface.py <<'P'
import os

@expose
def gpus() -> str:
    return os.environ.get("CUDA_VISIBLE_DEVICES", "") + " " + " ".join(sorted(n for n in os.listdir("/dev") if n.startswith("nvidia") and n[-1].isdigit()))
P
experiment() { # NAME, keys of sandbox
  printf 'name: %s\nsandbox: {provider: slurm, timeout: %s}\nserve: [{file: interface.py, expose_as: library, name: tools}]\n' "$1" "$2" >"$1.yaml"
}

# A notebook, whose packages are installed meanwhile.
printf 'name: notebook\nsandbox: {provider: slurm, timeout: 20m, cpu: 1, memory: 1, execution_mode: notebook}\n' >notebook.yaml
"$SEER" up notebook.yaml --name notebook --yes -q >notebook.log 2>&1 &
notebook=$!

# The example: byte for byte what a local run gives.
cp -r "$TOP/examples/induction-heads" demo
"$SEER" run --yes demo/seer.yaml -q >local.txt
cp demo/runs/latest/outputs/report.md local.md
"$SEER" run --yes demo/seer.yaml -q --set sandbox.provider=slurm >slurm.txt
cmp demo/runs/latest/outputs/report.md local.md
cmp slurm.txt local.txt

# A machine with two GPUs, which are those of the job and no others.
experiment two "20m, gpu: A100, gpu_count: 2, cpu: 1, memory: 1"
"$SEER" up two.yaml --name two --yes -q >/dev/null
test "$("$SEER" call two tools.echo text=hi)" = '"hi"'
"$SEER" call two tools.gpus | tee gpus.txt | grep -q 'GPU-0000000[01]-.*,GPU-0000000[01]-.* nvidia0 nvidia1'
"$SEER" exec two -- sh -c 'head -c 3000000 /dev/zero' | wc -c | grep -q 3000000
python3 "$TOP/e2e/ssh/session.py" shell two

# A snapshot of its files, from which another one starts.
"$SEER" exec two -- sh -c 'echo kept >note'
"$SEER" snapshot two saved >/dev/null
experiment again "20m, cpu: 1, memory: 1"
"$SEER" up again.yaml --name again --snapshot saved --yes -q >/dev/null
"$SEER" exec again -- cat note | grep -qx kept
"$SEER" down again -q

# Modules and lines of set-up, of which the job's log has what they say; a module that there is not.
experiment modules "20m, provider_options: {slurm: {modules: [tools/1.0], setup: [\"echo set-up: \$(lab-tool)\"]}}"
"$SEER" up modules.yaml --name modules --yes -q >/dev/null
login 'cat ~/.local/state/seer-slurm/*/log' >job.txt
grep -qx 'set-up: the tool of the module' job.txt
"$SEER" down modules -q
if "$SEER" up modules.yaml --yes -q --set 'sandbox.provider_options.slurm.modules=[tools/2.0]' >out.txt 2>err.txt; then cat out.txt; false; fi
grep -q 'module load fails' err.txt || { cat err.txt; false; }

# The connection is cut during a call, and what carries it is killed: the call goes on.
"$SEER" call two tools.slow seconds=6 >slow.txt &
slow=$!
sleep 1
inside pkill -9 -f 'sshd: alice@notty' || true
wait $slow
grep -q done slow.txt
# The login node is away for a while.
"$SEER" call two tools.slow seconds=$((4 + pause)) >slow.txt &
slow=$!
sleep 1
inside pkill -9 -x sshd
sleep "$pause"
if "$SEER" ls --refresh >ls.txt 2>err.txt; then cat ls.txt; false; fi
grep -q 'two *unreachable' ls.txt && grep -q 'login' err.txt || { cat ls.txt err.txt; false; }
inside /usr/sbin/sshd -p "$SSH_PORT" -o ListenAddress=127.0.0.1 -o PidFile=/run/sshd.pid -o UsePAM=no
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

wait $notebook || { cat notebook.log; false; }
python3 "$TOP/e2e/ssh/session.py" notebook notebook
"$SEER" down notebook -q

# The time limit, a cancelled job, a killed program on the node, a preempted job, a lost node.
ended() { # NAME, what the state is to say
  await '[[ "$(state '"$1"')" =~ '"$2"' ]]'
}
experiment short "1m, provider_options: {slurm: {partition: brief}}"
"$SEER" up short.yaml --name short --yes -q >/dev/null
experiment own 45s
"$SEER" up own.yaml --name own --yes -q >/dev/null
experiment plain 20m
# Limits of an account: of the jobs that are submitted, and of those that run.
if [ -n "${SLURM_DBD:-}" ]; then
  limit() { inside sacctmgr -i modify user alice set "$@" >/dev/null; }
  limit MaxSubmitJobs="$(login 'squeue -h' | wc -l)"
  if "$SEER" up plain.yaml --name above --yes -q >out.txt 2>err.txt; then cat out.txt; false; fi
  grep -q 'accounting/QOS policy.*end other jobs of yours' err.txt || { cat err.txt; false; }
  limit MaxSubmitJobs=-1 MaxJobs=1
  "$SEER" up plain.yaml --name above --yes >above.txt 2>&1 &
  above=$!
  await 'grep -q "its account or QOS is at a limit (AssocMaxJobsLimit)" above.txt'
  limit MaxJobs=-1
  wait $above
  "$SEER" down above -q
fi
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
ended short 'stopped.*time.limit' # the partition allows no more than the timeout
ended own 'stopped.*ended.by.itself'
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
inside scontrol update nodename="$node" state=drain reason=test # what runs there goes on
test "$("$SEER" call lost tools.echo text=drained)" = '"drained"'
inside scontrol update nodename="$node" state=down reason=test
ended lost 'failed.*lost'
inside scontrol update nodename="$node" state=resume 2>/dev/null || true # it may be back by itself
await nothing_on_nodes

# A start that is killed, at each step, leaves nothing and has no second job.
experiment dies 20m
python3 "$TOP/e2e/ssh/kills.py" dies.yaml slurm dies "ssh login 'squeue -h -t PD,R -o %j' </dev/null | sort | uniq -d"
test "$(login 'squeue -h -t PD,R')" = ""

"$SEER" down --all -q
await '[ "$(login "squeue -h")" = "" ]' # Slurm takes a moment for the end of the last job
"$SEER" gc --provider slurm >/dev/null
test "$(login 'squeue -h; ls ~/.local/state/seer-slurm')" = ""
test "$(login 'find ~/.cache/seer -type f ! -path "*/host/*"')" = "" # gc has cleaned the cache as well
await nothing_on_nodes
