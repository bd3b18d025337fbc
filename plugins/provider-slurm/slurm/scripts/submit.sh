# KEY OWNER END PROGRAM SCRIPT, options of sbatch; the spec is standard input.
umask 077
key=$1 owner=$2 end=$3 program=$4 script=$5
shift 5
dir=$root/$key
mkdir -p "$dir" || exit 1
# What jobs that have ended by themselves have left.
old=$(find "$root" -mindepth 1 -maxdepth 1 -name '[a-z0-9]*' -mtime +1 2>/dev/null)
if [ -n "$old" ] && live=$(squeue -h -u "$me" -o '|%j|'); then
  for one in $old; do
    case $live in *"|$(basename "$one")|"*) ;; *) rm -rf "$one" ;; esac
  done
fi
exec 9>"$dir/lock"
if command -v flock >/dev/null 2>&1; then flock -w 15 9 || { echo "another start of $key goes on" >&2; exit 1; }; fi
submitted() { # sets id to the job of the key, which an sbatch that was not answered has left, or to nothing
  id=$(squeue -h -u "$me" -n "$key" -t all -o %i) || exit 1
  id=$(printf '%s\n' "$id" | head -n 1)
}
id=$(cat "$dir/job" 2>/dev/null)
if [ -z "$id" ] && [ -e "$dir/spec.json" ]; then submitted; fi
if [ -z "$id" ]; then
  cat >"$dir/spec.json" || exit 1
  printf '%s\n' "$owner" >"$dir/owner"
  printf '%s\n' "$end" >"$dir/end"
  printf '%s\n' "$script" >"$dir/job.sh" || exit 1
  if sbatch --parsable --job-name="$key" --comment="seer $owner" --output="$dir/log" --open-mode=append "$@" \
    "$dir/job.sh" "$program" "$dir" >"$dir/said" 2>"$dir/refused" 9>&- </dev/null; then
    id=$(sed -n 's/^\([0-9][0-9]*\)\(;.*\)\{0,1\}$/\1/p' "$dir/said" | tail -n 1)
    [ -n "$id" ] || { cat "$dir/said" >&2; exit 1; }
  else
    cat "$dir/refused" >&2
    submitted # slurmctld may have taken the job and answered too late
    if [ -z "$id" ]; then
      # slurmctld may still take the job: the next start and garbage collection look for it.
      if grep -Eiq 'timed out|contact slurm|connection refused|submission failed:.*(connect|zero bytes)' "$dir/refused"; then exit 1; fi
      rm -rf "$dir"
      exit 91
    fi
  fi
fi
printf '%s\n' "$id" >"$dir/job.new" && mv "$dir/job.new" "$dir/job" || exit 1
echo "job|$id"
