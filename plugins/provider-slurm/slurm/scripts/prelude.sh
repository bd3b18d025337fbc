export LC_ALL=C TZ=UTC SLURM_TIME_FORMAT=standard
if ! command -v squeue >/dev/null 2>&1 && [ -r /etc/profile ]; then . /etc/profile >/dev/null 2>&1; fi
command -v squeue >/dev/null 2>&1 || exit 90
root=$HOME/.local/state/seer-slurm
me=$(id -un)
fields='job|%i|%T|%r|%S|%V|%N|%j'
