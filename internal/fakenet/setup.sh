# sh -c setup.sh sh PROGRAM ARGUMENT…: runs the program in the namespace that this shell is in.
set -eu
ip link set lo up
dir=$(mktemp -d)
python=$(python3 -c "import sys; print(sys.executable)") # not what only starts it
unshare --net -- sleep 3600 &
outside=$!
served=$outside
trap 'kill $served; umount -l /etc/resolv.conf 2>/dev/null; rm -rf "$dir"' EXIT
until [ "$(readlink "/proc/$outside/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do :; done
beyond() { nsenter --net="/proc/$outside/ns/net" "$@"; }

ip addr add 10.77.0.1/24 dev lo
ip link add up0 type veth peer name up1 netns "$outside"
ip addr add 198.51.100.1/24 dev up0
ip -6 addr add 2001:db8:4::1/64 dev up0 nodad
ip link set up0 up
beyond ip link set lo up
beyond ip addr add 198.51.100.254/24 dev up1
beyond ip -6 addr add 2001:db8:4::fe/64 dev up1 nodad
beyond ip link set up1 up
for address in 203.0.113.7/32 169.254.169.254/32 10.20.30.40/32; do beyond ip addr add "$address" dev lo; done
for address in 2001:db8:5::7/128 fd00:ec2::254/128; do beyond ip -6 addr add "$address" dev lo nodad; done
ip route add default via 198.51.100.254
ip -6 route add default via 2001:db8:4::fe

printf %s "$SEER_TEST_FAKENET" >"$dir/serve.py"
mkfifo "$dir/ready"
nsenter --net="/proc/$outside/ns/net" "$python" "$dir/serve.py" INTERNET 80 "" >"$dir/ready" &
served="$served $!"
read -r _ <"$dir/ready"
"$python" "$dir/serve.py" HOST 8000 127.0.0.53 >"$dir/ready" &
served="$served $!"
read -r _ <"$dir/ready"
echo 'nameserver 127.0.0.53' >"$dir/resolv.conf"
chmod 644 "$dir/resolv.conf"
chmod 755 "$dir"
mount --bind "$dir/resolv.conf" /etc/resolv.conf

"$@"
if [ "$(cat /proc/self/uid_map | tr -s ' ')" = " 0 0 4294967295" ]; then
  # The device is everybody's on most computers.
  mknod -m 666 "$dir/tun" c 10 200
  mount --bind "$dir/tun" /dev/net/tun
  setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/nonexistent "$@"
fi
