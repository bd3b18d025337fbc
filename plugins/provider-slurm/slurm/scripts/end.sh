# KEY. First Seer's program is asked to end the machine, then Slurm ends the job.
key=$1
left() { squeue -h -u "$me" -n "$key" -t "$1" -o %i; }
wait_for() { # TRIES STATES
  n=0
  while [ "$n" -lt "$1" ]; do
    now=$(left "$2") || exit 1
    [ -n "$now" ] || return 0
    n=$((n + 1))
    sleep 0.5
  done
  return 1
}
live=$(left RUNNING,SUSPENDED,STOPPED) || exit 1
if [ -n "$live" ]; then
  scancel --quiet --batch --signal=TERM -u "$me" -n "$key" 2>/dev/null
  wait_for 20 RUNNING
fi
scancel --quiet -u "$me" -n "$key" || exit 1
wait_for 16 PENDING,CONFIGURING,RUNNING,SUSPENDED,STOPPED || { echo "the job of $key does not end" >&2; exit 92; }
wait_for 10 COMPLETING
rm -rf "${root:?}/$key"
[ -n "$(ls "$root")" ] || rm -f "$root"/.squeue*
