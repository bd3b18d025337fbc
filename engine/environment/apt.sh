# Arguments: packages. A machine that has them all needs neither apt nor a network.
lacking=
for package; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || lacking=yes
done
[ -n "$lacking" ] || exit 0
command -v apt-get >/dev/null || { echo "the image has no apt-get; use an image of Debian or Ubuntu, or one that has $*"; exit 90; }
[ "$(id -u)" = 0 ] || { echo "the image's user is not root, so nothing can be installed; use another image, or one that has $*"; exit 90; }
export DEBIAN_FRONTEND=noninteractive
apt-get update -q && exec apt-get install -y -q --no-install-recommends -- "$@"
