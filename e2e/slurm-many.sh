# Many jobs of one user at once (E2E_MANY, 16): all wait, while squeue is asked for them together and
# at most every 30 seconds; all start, answer a call, and end; nothing is left.
many=${E2E_MANY:-16}
NODES=2 SLURM_CPUS=$(((many + 1) / 2))
export SLURM_CPUS
. "$TOP/e2e/slurm/lab.sh"
cat >interface.py <<'P'
@expose
def echo(text: str) -> str:
    return text
P
cat >many.yaml <<'Y'
name: many
sandbox: {provider: slurm, timeout: 1h, cpu: 1}
serve: [{file: interface.py, expose_as: library, name: tools}]
Y
took() { echo "$1: $((SECONDS - began)) s, load $(cut -d' ' -f1 /proc/loadavg), $(free -m | awk '/^Mem/ { print $7 }') MB free"; }

echo "== all wait"
began=$SECONDS
login 'sbatch -p urgent -N2 --exclusive --wrap "sleep 3000"' >/dev/null
await '[ "$(login "squeue -h -p urgent -t R -o %i" | wc -l)" = 1 ]'
ups=()
for i in $(seq "$many"); do
  "$SEER" up many.yaml --name "many-$i" --yes >"up-$i.log" 2>&1 &
  ups+=($!)
  [ $((i % 5)) != 0 ] || await "[ \$(grep -l 'job [0-9]* on login' up-*.log | wc -l) -ge $((i - 2)) ]"
done
await "[ \$(grep -lE 'waits for|submitted just now' up-*.log | wc -l) = $many ]"
took "$many jobs submitted"
from=$(date +%s) window=${E2E_WINDOW:-95}
sleep "$window"
asked=$(awk -v from="$from" -v to=$((from + window)) '$1 >= from && $1 < to' "$LAB/squeue.log" | tee asked.txt | wc -l)
echo "while $many jobs waited for $window s, squeue was asked $asked times"
[ "$asked" -ge 1 ] && [ "$asked" -le $((window / 30 + 1)) ] || { cat asked.txt; exit 1; }

echo "== all start"
began=$SECONDS
login 'scancel -p urgent -u alice'
for pid in "${ups[@]}"; do wait "$pid" || { tail -n 3 up-*.log; exit 1; }; done
took "$many sandboxes started"
[ "$(login 'squeue -h -t R -o %j' | sort -u | wc -l)" = "$many" ]

echo "== all answer"
began=$SECONDS
seq "$many" | xargs -P 8 -I{} "$SEER" call many-{} tools.echo text=job-{} >answers.txt
[ "$(sort -u answers.txt | wc -l)" = "$many" ]
took "$many calls"

echo "== nothing is left"
began=$SECONDS
"$SEER" down --all -q
took "$many sandboxes ended"
await '[ "$(login "squeue -h")" = "" ]' # Slurm takes a moment for the end of the last job
"$SEER" gc --provider slurm >/dev/null
test "$(login 'squeue -h; ls -A ~/.local/state/seer-slurm')" = ""
await nothing_on_nodes
