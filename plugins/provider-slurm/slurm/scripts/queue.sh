# Options of sbatch for all; each line of standard input has the partition, the minutes and the gres
# of a job: when would it start?
echo "now|$(date +%Y-%m-%dT%H:%M:%S)"
while read -r partition minutes gres; do
  start=$(sbatch --test-only --wrap=true "$@" --partition="$partition" --time="$minutes" ${gres:+--gres="$gres"} 2>&1 </dev/null |
    sed -n 's/.* to start at \([0-9T:-]*\).*/\1/p' | head -n 1)
  echo "start|$start"
done
