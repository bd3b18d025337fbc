# Finds Seer's program on this host, or a folder for it, behind engine/bring/choose.sh.
# Says: found PATH | bring SYSTEM FOLDER | fail WHY
usable() { # makes a folder, private and able to hold programs
  mkdir -p "$1" 2>/dev/null && [ ! -L "$1" ] && [ -O "$1" ] && chmod 700 "$1" || return 1
  printf '#!/bin/sh\n' >"$1/.try$$" 2>/dev/null && chmod 700 "$1/.try$$" && "$1/.try$$" 2>/dev/null
  set -- "$1" $?
  rm -f "$1/.try$$"
  return "$2"
}
own=/var/tmp/seer-$(id -u)
for top in "${XDG_CACHE_HOME:-$HOME/.cache}/seer" "$own"; do
  file=$top/host/seer-runtime-$digest
  if [ -x "$file" ] && [ -O "$file" ] && [ ! -L "$top" ] && [ -O "$top" ]; then
    touch "$file"
    find "$top/host" -name 'seer-runtime-*' ! -name "seer-runtime-$digest" -mtime +30 -exec rm -f {} +
    echo "found $file"
    exit
  fi
done
for top in "${XDG_CACHE_HOME:-$HOME/.cache}/seer" "$own"; do
  if usable "$top" && usable "$top/host"; then
    echo "bring $system=$top/host"
    exit
  fi
done
echo "fail neither ~/.cache/seer nor $own can hold programs: see the space, the quota, the owner, and whether they are mounted noexec"
