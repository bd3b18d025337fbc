# The beginning of each script that looks for Seer's program. Arguments: "Linux x86_64=SHA256"… -- ARGUMENT…
# Sets $system and $digest, and leaves the script ARGUMENT…
system=$(uname -sm)
digest=
while [ "$1" != -- ]; do
  [ "${1%=*}" != "$system" ] || digest=${1##*=}
  shift
done
shift
[ -n "$digest" ] || { echo "fail Seer has no program for $system"; exit; }
umask 077
