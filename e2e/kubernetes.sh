# Only by name: it builds Kubernetes, which takes ten minutes once
# Machines as pods of a Kubernetes cluster, as docs/providers/kubernetes.md has it, with a real
# kubelet and containerd and only the rights of kubernetes-rbac.yaml: the example has the results
# of a local run; GPUs and network policies; pods that are evicted, preempted or lost with their
# node; an API server and a network that are away; killed programs; Seer inside of a pod; at the end
# nothing is left. What needs no container is in kubernetes-api.sh.
# E2E_CUT is how many seconds the network is away (20), E2E_STORM how many sandboxes there are at once (20).
export SEER_PYTHON
SEER_PYTHON=$("$TOP/scripts/python")
if [ -z "${OWN_NETWORK:-}" ]; then
  "$TOP/e2e/kubernetes/build" >/dev/null # from here on there is no network but the cluster's
  cp -r "$TOP/examples/induction-heads" demo
  "$SEER" run --yes demo/seer.yaml -q >local.txt
  cp demo/runs/latest/outputs/report.md local.md
  OWN_NETWORK=1 exec unshare --net bash -eEuo pipefail -c "$BASH_EXECUTION_STRING" "$0"
fi
. "$TOP/e2e/kubernetes/lab.sh"
. "$TOP/e2e/machines/lib.sh"
trap '"$SEER" down --all -q >/dev/null 2>&1 || true; stop_cluster' EXIT
start_cluster

use_cluster
cat "$TOP/e2e/machines/interface.py" - >interface.py <<'P'
import os, socket, subprocess

@expose
def gpus() -> str:
    return subprocess.check_output(["nvidia-smi", "--query-gpu=index,name"], text=True) + os.environ["NVIDIA_VISIBLE_DEVICES"]

@expose
def reaches(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), 3).close()
        return True
    except OSError:
        return False
P

part "what there is"
"$SEER" offers --provider kubernetes --gpu '*' >offers.txt
grep -q A100 offers.txt
experiment lab 'timeout: 30m, ports: [8123], execution_mode: cli'
"$SEER" plan lab.yaml >plan.txt
grep -q 'agents' plan.txt
"$SEER" doctor --provider kubernetes --file lab.yaml >doctor.txt
grep -q 'pod of a machine (dry run)' doctor.txt
if grep -E '✗|failed' doctor.txt; then false; fi

experiment plain 'timeout: 20m'
part "the example: byte for byte what a local run gives"
"$SEER" run --yes demo/seer.yaml -q --set sandbox.provider=kubernetes --set sandbox.provider_options.kubernetes.image=localhost/python:1 >kubernetes.txt
cmp demo/runs/latest/outputs/report.md local.md
cmp kubernetes.txt local.txt

part "a sandbox that stays: calls, commands, files, a shell, a port"
use_lab library
PYTHONPATH=$TOP/e2e/cloud-sessions python3 -c 'import sys; from tools import SEER, terminal; sys.exit(terminal([SEER, "shell", "lab"], "echo in the $((10 * 4 + 2))\nexit 7\n", "in the 42") != 7)'
[ "$(kubectl auth can-i get secrets || true)" = no ]
test "$("$SEER" exec lab -- sh -c 'ls /var/run/secrets/kubernetes.io 2>/dev/null | wc -l')" = 0 # no token in the pod

part "a notebook, and a snapshot of its files that starts another one"
experiment notebook 'timeout: 30m, execution_mode: notebook'
"$SEER" up notebook.yaml --name notes --yes -q >/dev/null
cell() { # NAME, SOURCE
  PYTHONPATH=$TOP/e2e/cloud-sessions python3 -c '
import sys
from tools import MCP
mcp = MCP("--notebook", sys.argv[1], "--out", "notes")
mcp.call("start_new_session", experiment_name="e2e")
print(mcp.cell(sys.argv[2]).strip())
mcp.close()' "$1" "$2"
}
test "$(cell notes 'open("made.txt", "w").write("by a cell"); print(6 * 7)')" = 42
"$SEER" snapshot notes saved >/dev/null
"$SEER" down notes -q
"$SEER" up notebook.yaml --name again --snapshot saved --yes -q >/dev/null
test "$("$SEER" exec again -- cat made.txt)" = "by a cell"
"$SEER" down again -q

restart_api() {
  hold apiserver kube-apiserver
  sleep 2
  release apiserver
  await 'as_admin get --raw /readyz >/dev/null 2>&1'
}
programs() { pgrep -f "seer-kube|seer-runtime.* forward" | while read -r p; do ! grep -qsz "$HOME" "/proc/$p/environ" || echo "$p"; done; }
kill_programs() { programs | xargs -r kill -9; }
cut=${E2E_CUT:-20}
away() { cut_network && sleep "$cut" && mend_network; }

part "the API server is killed; what carries the ports is killed; the network is away for $cut s"
slow_call 4 kill_programs
slow_call 8 restart_api
slow_call $((cut + 5)) away
test "$("$SEER" call lab tools.echo text=again)" = '"again"'
library_echoes library "on the same port"
hold apiserver kube-apiserver
code=0
"$SEER" ls --refresh >ls.txt 2>err.txt || code=$?
test $code = 6
grep -q 'lab *unreachable' ls.txt
release apiserver
await '"$SEER" ls --refresh | grep -q "lab *running"'

part "a killed seer: its call goes on, and what it had started is found"
kill_waiting
experiment dies 'timeout: 10m'
python3 "$TOP/e2e/ssh/kills.py" dies.yaml kubernetes dies true
await '[ "$(pods | wc -l)" = 1 ]'
"$SEER" down lab -q
await '! pods | grep -q .'

part "GPUs: two, which others do not get"
experiment two 'timeout: 20m, gpu: A100, gpu_count: 2'
"$SEER" up two.yaml --name two --yes -q >/dev/null
"$SEER" call two tools.gpus | tee gpus.txt | grep -Eq '0, NVIDIA A100.*1, NVIDIA A100.*(0,1|1,0)' # in the order of the kubelet
if "$SEER" up two.yaml --name more --max-wait 8s --yes -q >more.txt 2>&1; then false; fi
grep -q 'Insufficient nvidia.com/gpu' more.txt
await '[ "$(pods | wc -l)" = 1 ]'
"$SEER" up two.yaml --name more --yes -q >/dev/null 2>more.txt & # this one waits, and gets what the other one gives back
waiting=$!
await '[ "$(pods | wc -l)" = 2 ]'
"$SEER" down two -q
wait $waiting || { cat more.txt; false; }
test "$("$SEER" call more tools.echo text=mine)" = '"mine"'

part "preempted by a pod of higher priority"
as_admin apply -f - >/dev/null <<'Y'
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: urgent}, value: 1000}
---
apiVersion: v1
kind: Pod
metadata: {name: urgent}
spec:
  priorityClassName: urgent
  terminationGracePeriodSeconds: 0
  containers: [{name: urgent, image: "localhost/python:1", resources: {limits: {nvidia.com/gpu: 1}}}]
Y
ended more 'failed.*preempted'
as_admin delete pod urgent --now >/dev/null

part "an image that is not there, no memory, the time limit"
# A registry that has nothing.
inside python3 -c 'import http.server
class Nothing(http.server.BaseHTTPRequestHandler):
    def do_GET(self): self.send_error(404)
    do_HEAD = do_GET
http.server.HTTPServer(("127.0.0.1", 5000), Nothing).serve_forever()' >registry.txt 2>&1 &
experiment short 'timeout: 1m' # which passes meanwhile
"$SEER" up short.yaml --name short --yes -q >/dev/null
experiment missing 'timeout: 10m, image: {base: "localhost:5000/none:1"}'
cannot_start missing 'localhost:5000/none:1.*(not found|pulled)'
experiment small 'timeout: 10m, cpu: 0.5, memory: 0.5, execution_mode: cli' # of the class that the kernel spares: the kubelet gives it all that it may use
"$SEER" up small.yaml --name small --yes -q >/dev/null
# Of all programs in the pod, the kernel is to choose the first.
fails_within 30 'OOMKilled' "$SEER" exec small -- sh -c 'echo 1000 >/proc/1/oom_score_adj; while :; do python3 -c "x = bytearray(1 << 30)"; done'
ended small 'failed.*OOMKilled'
ended short 'stopped.*time'
"$SEER" up plain.yaml --name deleted --yes -q >/dev/null
delete_pods() { sleep 3 && as_admin delete pods -n agents --all --wait=false >/dev/null; }
delete_pods &
code=0 # a pod that is deleted has the time to end its commands: their exit codes arrive, and so does the reason
timeout 30 "$SEER" exec deleted -- sleep 600 >/dev/null 2>err.txt || code=$?
test $code = 137
grep -q 'killed with its sandbox: .*the pod was deleted' err.txt
ended deleted 'stopped.*deleted'

part "a node that is drained, and one that is lost"
"$SEER" up plain.yaml --name drained --yes -q >/dev/null
inside pkill -STOP -x python3 # so that the pod takes all of its grace, and somebody sees why it ends
as_admin drain node1 --force --delete-emptydir-data >/dev/null 2>&1 &
draining=$!
ended drained 'failed.*(drained|evicted)'
wait $draining
as_admin uncordon node1 >/dev/null
"$SEER" up plain.yaml --name lost --yes -q >/dev/null
hold kubelet kubelet
ended lost 'unreachable.*node'
# The cluster taints a node that is lost, but not where it is the only one.
as_admin taint --overwrite node node1 node.kubernetes.io/unreachable=:NoExecute >/dev/null
await '[ -n "$(as_admin get pods -n agents -o "jsonpath={.items[*].metadata.deletionTimestamp}")" ]'
release kubelet
ended lost '(failed|stopped).*(node|deleted)'
await '! pods | grep -q .'
await 'as_admin get node node1 | grep -qw Ready'
as_admin taint node node1 node.kubernetes.io/unreachable- >/dev/null 2>&1 || true # it was taken away with the node's return

part "no network: refused where the cluster does not keep policies, proven where it does"
experiment closed 'timeout: 10m, network: none'
refused closed 'does not keep the NetworkPolicy of network: none, as the pod has reached the API of the cluster'
release policies
await 'on_node nft list table bridge policies >/dev/null 2>&1'
"$SEER" up closed.yaml --name closed --yes -q >/dev/null
"$SEER" up plain.yaml --name open --yes -q >/dev/null
test "$("$SEER" call closed tools.reaches host=10.96.201.1 port=443)" = false
test "$("$SEER" call open tools.reaches host=10.96.201.1 port=443)" = true
"$SEER" down --all -q
await '! pods | grep -q .'

part "no network where nothing answers anyway: only with a place that does, or in a namespace that denies all"
on_node nft -f - <<'N'
table bridge silent {
  chain from { type filter hook prerouting priority -300; ip saddr 10.96.202.0/24 ip daddr 10.96.201.1 drop; }
}
N
refused closed 'nothing would prove that the network is closed.*the API of the cluster.*network_probe'
experiment probed 'timeout: 10m, network: none' 'network_probe: ["10.96.200.2:6443"]'
"$SEER" up probed.yaml --name probed --yes -q >/dev/null
test "$("$SEER" call probed tools.reaches host=10.96.200.2 port=6443)" = false
"$SEER" down probed -q
as_admin apply -n agents -f - >/dev/null <<'Y'
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: deny-all}, spec: {podSelector: {}, policyTypes: [Ingress, Egress]}}
Y
"$SEER" up closed.yaml --name denied --yes -q >/dev/null
ended denied 'running.*policies.of.the.namespace..deny-all.'
test "$("$SEER" call denied tools.reaches host=10.96.200.2 port=6443)" = false
"$SEER" down --all -q
as_admin delete networkpolicy -n agents deny-all >/dev/null
on_node nft delete table bridge silent
await '! pods | grep -q .'

part "a volume, which outlives its pod"
as_admin apply -f - >/dev/null <<'Y'
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec: {capacity: {storage: 20G}, accessModes: [ReadWriteOnce], hostPath: {path: /var/lib/kubelet/disk, type: DirectoryOrCreate}}
Y
experiment volume 'timeout: 10m, volumes: [{name: seer-data, path: /data, size: 2GB}]'
"$SEER" up volume.yaml --name first --yes -q >/dev/null
"$SEER" exec first -- sh -c 'echo kept >/data/file'
"$SEER" down first -q
"$SEER" up volume.yaml --name second --yes -q >/dev/null
test "$("$SEER" exec second -- cat /data/file)" = kept
"$SEER" gc --provider kubernetes --dry-run >gc.txt
as_admin get pvc seer-data -n agents >/dev/null # in use, and a dry run
"$SEER" down second -q
await '! pods | grep -q .'

part "Seer itself in a pod: without a kubeconfig, with the rights of its service account"
as_admin apply -n agents -f - >/dev/null <<Y
apiVersion: v1
kind: Pod
metadata: {name: researcher}
spec:
  serviceAccountName: seer
  containers: [{name: seer, image: "localhost/python:1", command: [sleep, infinity], volumeMounts: [{name: bin, mountPath: /seer, readOnly: true}]}]
  volumes: [{name: bin, hostPath: {path: "$TOP/bin"}}]
Y
as_admin wait -n agents pod/researcher --for=condition=Ready --timeout=120s >/dev/null
tar -c plain.yaml interface.py | as_admin exec -i -n agents researcher -- tar -x -C /root
as_admin exec -n agents researcher -- env HOME=/root PATH=/seer:/usr/bin:/bin sh -euc '
  cd /root
  cp -r /seer/cache/installed .cache
  seer offers --provider kubernetes --gpu "*" | grep -q in-cluster
  seer up plain.yaml --name inner --yes -q >/dev/null
  test "$(seer call inner tools.echo text=within)" = "\"within\""
  test "$(seer exec inner -- sh -c "echo kept >note; cat note")" = kept
  seer down inner -q
  seer gc --provider kubernetes --dry-run | grep -q seer-data'
as_admin delete pod -n agents researcher --now >/dev/null
await '! pods | grep -q .'

part "many at once"
storm=${E2E_STORM:-20}
many_at_once "$storm" plain.yaml
test "$(pods | wc -l)" = "$storm"

part "nothing is left"
"$SEER" down --all -q
"$SEER" gc --provider kubernetes --dry-run >gc.txt
grep -q seer-data gc.txt
as_admin get pvc seer-data -n agents >/dev/null
"$SEER" gc --provider kubernetes >/dev/null
await '[ -z "$(as_admin get pods,networkpolicies,persistentvolumeclaims -n agents -o name)" ]'
await '[ -z "$(on_node ctr -n k8s.io containers ls -q)" ]'
await '! inside grep -q seer- /proc/self/mountinfo'
await '[ -z "$(inside find /sys/fs/cgroup -path "*seer-kubernetes-$cluster*/pod*" -type d)" ]'
await '[ -z "$(inside ls /run/netns 2>/dev/null)" ]'
await '[ -z "$(programs)" ]' || { programs | xargs -r ps -o pid,ppid,etime,args -p; tail -n +1 "$HOME"/.local/state/seer/forward/*; false; }
