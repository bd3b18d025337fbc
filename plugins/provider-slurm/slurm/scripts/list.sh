squeue -h -u "$me" -t all -o "$fields" || exit 1
for dir in "$root"/*/; do
  [ -s "$dir/owner" ] || continue
  printf 'dir|%s|%s|%s\n' "$(basename "$dir")" "$(cat "$dir/owner")" "$(cat "$dir/end")"
done
