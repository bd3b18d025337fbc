# A real cluster for a script: starts it and ends it with all that it has made. To be sourced, in a
# network of the script's own (see own_network); everything is in $LAB. GPUS is the number of GPUs.
[ "$(id -u)" = 0 ] || { echo "e2e/kubernetes lacks root's rights, for namespaces and daemons" >&2; exit 1; }
TOOLS=$("$TOP/e2e/kubernetes/build")
LAB=$PWD/lab
mkdir -m 755 "$LAB"
chmod 755 "$PWD"
export KUBECONFIG=$LAB/kubeconfig PATH=$TOOLS/bin:$PATH:/usr/sbin:/sbin
ip link set lo up

start_cluster() {
  "$TOP/e2e/kubernetes/cluster" "$TOOLS" "$LAB" >"$LAB/log.txt" 2>&1 &
  cluster=$!
  await '[ -e "$LAB/ready" ]'
}
stop_cluster() {
  kill -9 "$cluster" 2>/dev/null || true
  wait "$cluster" 2>/dev/null || true
  # Its processes end with it, but control groups stay; the kernel takes a moment for each.
  local n group=seer-kubernetes-$cluster
  for n in $(seq 100); do
    find /sys/fs/cgroup/$group /sys/fs/cgroup/*/$group -depth -type d -exec rmdir {} + 2>/dev/null || true
    ls -d /sys/fs/cgroup/$group /sys/fs/cgroup/*/$group >/dev/null 2>&1 || break
    sleep 0.1
  done
}
inside() { nsenter -t "$(pgrep -P "$cluster")" -m -p -u -i -n "$@"; } # as root of the node
on_node() { inside env PATH="$TOOLS/daemons/usr/bin:$TOOLS/bin:$PATH" "$@"; }
await() { # what is to become true, within two minutes
  local n
  for n in $(seq 480); do
    ! eval "$1" || return 0
    kill -0 "$cluster" || break
    sleep 0.25
  done
  echo "waited in vain: $1" >&2
  cat "$LAB/log.txt" >&2
  kubectl get pods -A -o wide >&2 2>/dev/null || true
  kubectl get events -A --sort-by=.lastTimestamp 2>/dev/null | tail -n 15 >&2 || true
  return 1
}
# hold DAEMON kills it and keeps it from coming back; release lets it.
hold() { touch "$LAB/hold-$1" && inside pkill -9 -x "$2"; }
release() { rm -f "$LAB/hold-$1"; }
# The way to the cluster is cut: nothing arrives, and nothing says so.
cut_network() { ip link set kube0 down; }
mend_network() { ip link set kube0 up; }
