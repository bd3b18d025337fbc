# WAIT PROGRAM SHELL SCRIPT, options of srun. The question is standard input. A node that is not
# free within WAIT seconds is not waited for.
wait=$1 program=$2 shell=$3 script=$4
shift 4
exec srun --quiet --immediate="$wait" --job-name=seer-check --time=1 --nodes=1 --ntasks=1 "$@" $shell "$script" seer "$program"
