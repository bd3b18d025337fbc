# JOB:KEY…
names=
for one; do names=$names,${one#*:}; done
jobs=$(squeue -h -u "$me" -n "${names#,}" -t all -o "$fields") || exit 1
printf '%s\n' "$jobs"
echo "now|$(date +%Y-%m-%dT%H:%M:%S)"
case $jobs in
*'|PENDING|'*)
  squeue -h -t PD --sort=-p -o '%P|%i' 2>/dev/null | awk -F'|' -v want=" $* " '
    { place[$1]++; if (index(want, " " $2 ":")) print "place|" $2 "|" place[$1] "|" $1 }'
  ;;
esac
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
