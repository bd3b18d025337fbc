# DRY. Removes what machines have left whose jobs are no longer there; says gone|PATH|KB and busy|KEY.
live=$(squeue -h -u "$me" -o '|%j|') || exit 1
for dir in "$root"/*/; do
  [ -d "$dir" ] || continue
  dir=${dir%/}
  key=$(basename "$dir")
  case $live in *"|$key|"*) echo "busy|$key"; continue ;; esac
  [ -n "$(find "$dir" -maxdepth 0 -mmin +10)" ] || { echo "busy|$key"; continue; } # may be about to submit
  kb=$(du -sk "$dir" | cut -f1)
  [ "$1" = 1 ] || rm -rf "$dir" || exit 1
  echo "gone|$dir|$kb"
done
[ "$1" = 1 ] || [ -n "$(ls "$root" 2>/dev/null)" ] || rm -f "$root"/.squeue*
