# Brings a release of code-server to ~/.local, whole or not at all, unless there is one.
lib=$HOME/.local/lib
# What installations left that were killed, whose processes are others' now or nobody's.
for left in "$lib"/.code-server-*-linux-*.*; do
  pid=${left##*.}
  [ "$pid" != $$ ] && case $(tr -d '\000' 2>/dev/null </proc/"$pid"/cmdline) in *code-server-*-linux-*) continue ;; esac
  rm -rf "$left"
done
command -v code-server >/dev/null && exit 0
[ -x "$HOME/.local/bin/code-server" ] && exit 0
case $(uname -m) in
x86_64) arch=amd64 ;;
aarch64) arch=arm64 ;;
*) echo "there is no release of code-server for $(uname -m)" && exit 90 ;;
esac
name=code-server-VERSION-linux-$arch
url=RELEASES/vVERSION/$name.tar.gz
part=$lib/.$name.$$
mkdir -p "$part" "$HOME/.local/bin" || exit 91
trap 'rm -rf "$part"' EXIT
trap 'exit 93' HUP INT TERM
limit=60 # seconds without a byte
again=3
fetch() { # URL FILE
  if command -v curl >/dev/null; then
    curl -fsSL --retry $again --connect-timeout $limit --speed-limit 1 --speed-time $limit -o "$2" "$1"
  elif command -v wget >/dev/null; then
    wget -q -t $((again + 1)) -T $limit -O "$2" "$1"
  elif command -v python3 >/dev/null; then
    python3 -c '
import shutil, sys, urllib.request
try:
    with urllib.request.urlopen(sys.argv[1], timeout=int(sys.argv[3])) as release, open(sys.argv[2], "wb") as f:
        shutil.copyfileobj(release, f)
except OSError as e:
    sys.exit(str(e))
' "$1" "$2" $limit
  else
    echo "the image has no curl, wget or python3 to fetch it with" && false
  fi
}
# The SHA-256 of a file; nothing where the image has no program for it.
digest() {
  if command -v sha256sum >/dev/null; then
    sha256sum <"$1"
  elif command -v python3 >/dev/null; then
    python3 -c 'import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest())' "$1"
  fi
}
# The SHA-256 that GitHub tells of the release; nothing where it tells none. In what it
# answers, the name of a file comes before its digest.
told() {
  limit=10 again=1
  fetch "TAGS/vVERSION" "$part/told" 2>/dev/null || return
  mine=
  tr '{},' '\n\n\n' <"$part/told" | while read -r line; do
    case $line in
    '"url":'*/releases/assets/*) mine= ;; # the next one begins
    '"name":'*"\"$name.tar.gz\"") mine=yes ;;
    '"digest":'*'"sha256:'*) [ -z "$mine" ] || { line=${line##*sha256:} && echo "${line%%\"*}" && break; } ;;
    esac
  done
}
echo "fetching $url"
fetch "$url" "$part/release" || exit
sum=$(digest "$part/release") && sum=${sum%% *}
pinned="PINNED" by="SEER_CODE_SERVER_SHA256 says"
[ -n "$pinned" ] || { pinned=$(told) by="GitHub tells"; }
case "$pinned" in
'') echo "its SHA-256 ($sum) was not compared: GitHub did not tell which it is; to be sure, name it in SEER_CODE_SERVER_SHA256 where seer runs" ;;
*"$sum"*) [ -n "$sum" ] || { echo "the image has no sha256sum or python3 to check the SHA-256 with" && exit 94; }
  echo "its SHA-256 is what $by: $sum" ;;
*) echo "its SHA-256 is $sum, and $by $pinned" && exit 95 ;;
esac
tar -xzf "$part/release" -C "$part" && rm -rf "$lib/code-server" && mv "$part/$name" "$lib/code-server" &&
  ln -sfn ../lib/code-server/bin/code-server "$HOME/.local/bin/code-server"
