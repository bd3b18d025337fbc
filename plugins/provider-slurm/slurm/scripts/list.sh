# The folders come first: a job that is submitted meanwhile is then in neither list.
for dir in "$root"/*/; do
  [ -s "$dir/owner" ] || continue
  printf 'dir|%s|%s|%s|%s\n' "$(basename "$dir")" "$(cat "$dir/owner")" "$(cat "$dir/end")" "$(cat "$dir/job" 2>/dev/null)"
done
squeue -h -u "$me" -t all -o "$fields" || exit 1
