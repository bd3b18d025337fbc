# JOB:KEY…
# While many jobs wait, all programs of this user share one answer of squeue. It is in a file that
# begins with its time, and has the jobs of the user, and their places in the queue.
umask 077
kept=$root/.squeue
fresh() { # JOB:KEY…: the answer in the file is good enough for these jobs
  [ -s "$kept" ] || return 1
  most=$((3 * $(grep -c '|PENDING|' "$kept"))) # seconds
  [ "$most" -ge 12 ] || return 1
  [ "$most" -le 30 ] || most=30
  for one; do
    dir=$root/${one#*:} id=${one%%:*}
    if [ -s "$dir/state.json" ]; then
      most=5 # it has begun
    elif grep -q "^job|$id|" "$kept"; then
      grep -q "^job|$id|PENDING|" "$kept" && [ -d "$dir" ] || return 1
    elif [ -z "$(find "$dir/job" -newer "$kept" 2>/dev/null)" ]; then
      return 1
    fi
  done
  age=$(($(date +%s) - $(sed -n '1s/^at|//p' "$kept")))
  [ "$age" -ge 0 ] && [ "$age" -lt "$most" ]
}
ask() { # JOB:KEY…: all jobs of all users are asked for only where a job waits, for its place
  set -- $(for one; do [ -s "$root/${one#*:}/state.json" ] || echo wait; done)
  if [ $# = 0 ]; then squeue -h -u "$me" -t all -o "$fields" || exit 1; return; fi
  all=$(squeue -h -t all --sort=-p -o "$fields|%P|%u") || exit 1
  printf '%s\n' "$all" | awk -F'|' -v me="$me" '
    $3 == "PENDING" { place[$(NF - 1)]++ }
    $NF != me { next }
    { print $1 "|" $2 "|" $3 "|" $4 "|" $5 "|" $6 "|" $7 "|" $8 }
    $3 == "PENDING" { print "place|" $2 "|" place[$(NF - 1)] "|" $(NF - 1) }'
}
if [ -w "$root" ] && command -v flock >/dev/null 2>&1; then
  exec 8>>"$root/.squeue.lock"
  flock -w 15 8
fi
if fresh "$@"; then
  jobs=$(cat "$kept")
else
  at=$(date +%s)
  jobs=$(ask "$@") || exit 1
  [ ! -w "$root" ] || { printf 'at|%s\n%s\n' "$at" "$jobs" >"$kept.new" && mv -f "$kept.new" "$kept"; } 2>/dev/null
fi
exec 8>&-
ids=
for one; do
  ids="$ids ${one%%:*}"
  case $jobs in
  *"job|${one%%:*}|"*) ;;
  *) [ -z "$(find "$root/${one#*:}/job" -newer "$kept" 2>/dev/null)" ] || jobs="$jobs
job|${one%%:*}|PENDING|None|N/A|$(date +%Y-%m-%dT%H:%M:%S)||${one#*:}" ;;
  esac
done
printf '%s\n' "$jobs" | awk -F'|' -v want="$ids " 'index(want, " " $2 " ")'
echo "now|$(date +%Y-%m-%dT%H:%M:%S)"
for one; do
  id=${one%%:*} dir=$root/${one#*:}
  if [ -s "$dir/state.json" ]; then printf 'state|%s|' "$id"; cat "$dir/state.json"; fi
  case $jobs in
  *"job|$id|PENDING|"* | *"job|$id|RUNNING|"*) continue ;;
  *"job|$id|"*) ;;
  *)
    past=$(sacct -n -P -X -j "$id" -o State 2>/dev/null | head -n 1)
    [ -n "$past" ] || past=$(scontrol -o show job "$id" 2>/dev/null | sed -n 's/.* JobState=\([A-Z_]*\).*/\1/p')
    echo "past|$id|$past"
    ;;
  esac
  if [ -s "$dir/log" ]; then printf 'log|%s|%s\n' "$id" "$(tail -c 2000 "$dir/log" | grep -v '^slurmstepd: ' | tail -n 1)"; fi
done
