# Arguments: packages. A machine that has them all needs neither apt nor a network.
lacking=
for package; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || lacking=yes
done
[ -n "$lacking" ] || exit 0
command -v apt-get >/dev/null || { echo "the image has no apt-get; use an image of Debian or Ubuntu, or one that has $*"; exit 90; }
[ "$(id -u)" = 0 ] || { echo "the image's user is not root, so nothing can be installed; use another image, or one that has $*"; exit 90; }
# A sandbox on a system of others knows few users, and dpkg wants those that it has noted.
id=900
[ ! -r /var/lib/dpkg/statoverride ] || while read -r user group _; do
  id=$((id + 1))
  grep -q "^$group:" /etc/group || echo "$group:x:$id:" >>/etc/group
  grep -q "^$user:" /etc/passwd || echo "$user:x:$id:$id::/nonexistent:/usr/sbin/nologin" >>/etc/passwd
done </var/lib/dpkg/statoverride
export DEBIAN_FRONTEND=noninteractive
# Others than root may not write to /tmp there; and what a mirror fails to send is asked for again.
options="-o APT::Sandbox::User=root -o Acquire::Retries=5"
apt-get $options update -q && exec apt-get $options install -y -q --no-install-recommends -- "$@"
