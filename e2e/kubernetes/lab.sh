# A real cluster for a script: starts it and ends it with all that it has made. To be sourced, in a
# network of the script's own; everything is in $LAB. GPUS is the number of GPUs; with NODE=none
# there is a control plane alone.
[ "$(id -u)" = 0 ] || { echo "e2e/kubernetes lacks root's rights, for namespaces and daemons" >&2; exit 1; }
options=()
[ "${NODE:-}" != none ] || options=(--control-plane)
TOOLS=$("$TOP/e2e/kubernetes/build" "${options[@]}")
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
part() { echo "== $1 ($SECONDS s)"; } # begins a part of the script, after so many seconds
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

admin=$LAB/kubeconfig
as_admin() { kubectl --kubeconfig "$admin" "$@"; }
# use_cluster gives Seer a service account with the rights that the documentation ships, in the
# namespace agents, and a kubeconfig with it.
use_cluster() {
  as_admin create namespace agents >/dev/null
  as_admin apply -n agents -f "$TOP/docs/providers/kubernetes-rbac.yaml" >/dev/null
  cp "$admin" "$PWD/kubeconfig"
  export KUBECONFIG=$PWD/kubeconfig
  kubectl config set-credentials seer --token="$(as_admin create token -n agents seer --duration=12h)" >/dev/null
  kubectl config set-context agents@lab --cluster=lab --user=seer --namespace=agents >/dev/null
  kubectl config use-context agents@lab >/dev/null
  kubectl config delete-context lab >/dev/null
  kubectl config delete-user admin >/dev/null
}
pods() { # in one piece: kubectl writes each name by itself, and would fail after grep -q has ended with the first
  local names
  names=$(as_admin get pods -n agents -o name)
  [ -z "$names" ] || echo "$names"
}
state() { "$SEER" ls --refresh --all --json 2>/dev/null | python3 -c '
import json, sys
rows = json.load(sys.stdin)
print(*[(r["state"], r.get("message", "")) for r in rows if r.get("name") == sys.argv[1]][-1:])' "$1"; }
ended() { # NAME, what the state is to say
  await '[[ "$(state '"$1"')" =~ '"$2"' ]]'
}
experiment() { # NAME, keys of sandbox, keys of its options
  cat >"$1.yaml" <<Y
name: $1
sandbox: {provider: kubernetes, $2, provider_options: {kubernetes: {image: "localhost/python:1"${3:+, $3}}}}
serve: [{file: interface.py, expose_as: library, name: tools}]
Y
}
cannot_start() { # NAME, what the error is to say
  if "$SEER" up "$1.yaml" --name "$1" --yes -q >out.txt 2>err.txt; then cat out.txt; false; fi
  grep -Eq "$2" err.txt || { cat err.txt; false; }
}
refused() { # likewise, when no other sandbox is there
  cannot_start "$@"
  await '! pods | grep -q .'
}
fails_within() { # SECONDS, what the error is to say, COMMAND…
  local limit=$1 says=$2
  shift 2
  if timeout "$limit" "$@" >out.txt 2>err.txt </dev/null; then cat out.txt; false; fi
  grep -Eq "$says" err.txt || { cat err.txt; false; }
}
