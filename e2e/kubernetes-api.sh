# Kubernetes, as docs/providers/kubernetes.md has it, up to the container: a real API server, etcd,
# scheduler and controllers, with nodes that are objects alone. Rights, quotas, policies, queues,
# offers, waiting, preemption, credentials, proxies, killed programs; at the end nothing is left.
# What needs a running container is in kubernetes.sh.
export SEER_PYTHON NODE=none
SEER_PYTHON=$("$TOP/scripts/python")
if [ -z "${OWN_NETWORK:-}" ]; then
  "$TOP/e2e/kubernetes/build" --control-plane >/dev/null
  OWN_NETWORK=1 exec unshare --net bash -eEuo pipefail -c "$BASH_EXECUTION_STRING" "$0"
fi
. "$TOP/e2e/kubernetes/lab.sh"
trap '"$SEER" down --all -q >/dev/null 2>&1 || true; stop_cluster' EXIT
start_cluster
use_cluster
node() { # NAME, number of GPUs, LABEL…
  local name=$1 gpus=$2
  shift 2
  as_admin create -f - >/dev/null <<Y
{apiVersion: v1, kind: Node, metadata: {name: $name}}
Y
  as_admin label node "$name" "$@" >/dev/null
  as_admin patch node "$name" --subresource=status --type=merge >/dev/null -p '{"status": {
    "conditions": [{"type": "Ready", "status": "True", "reason": "Told"}],
    "capacity": {"cpu": "4", "memory": "16Gi", "pods": "20", "nvidia.com/gpu": "'"$gpus"'"}, "allocatable": {"cpu": "4", "memory": "16Gi", "pods": "20", "nvidia.com/gpu": "'"$gpus"'"}}}'
  as_admin taint node "$name" node.kubernetes.io/not-ready- >/dev/null
}
node one 2 nvidia.com/gpu.product=NVIDIA-A100-SXM4-40GB nvidia.com/gpu.memory=40960
node two 1 nvidia.com/gpu.product=Tesla-T4
as_admin taint node two team=a:NoSchedule >/dev/null
as_admin apply -f - >/dev/null <<'Y'
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: urgent}, value: 1000}
Y
blocker() { # NAME, priority class, RESOURCE: N
  as_admin create -f - >/dev/null <<Y
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  priorityClassName: "$2"
  containers: [{name: blocker, image: none, resources: {requests: {$3}, limits: {$3}}}]
Y
}
gone() { as_admin delete pod "$1" --now >/dev/null; }
starts() { # NAME, arguments of up: in the background; its pod is there
  local name=$1
  shift
  "$SEER" up "$name.yaml" --name "$name" --yes -q "$@" >"$name.txt" 2>&1 &
  starting=$!
  await 'pods | grep -q .'
}
on_one() { [ "$(as_admin get pods -n agents -o 'jsonpath={.items[*].spec.nodeName}')" = one ]; }
doctor() { "$SEER" doctor --provider kubernetes --file "$1.yaml" >doctor.txt 2>&1 || true; }
cat >interface.py <<'P'
@expose
def echo(text: str) -> str:
    return text
P
experiment plain 'timeout: 20m, cpu: 1'
experiment two 'timeout: 20m, gpu: A100, gpu_count: 2'

part "contexts, namespaces, offers, rights"
"$SEER" offers --provider kubernetes --gpu '*' >offers.txt
grep -q A100 offers.txt
if grep -q T4 offers.txt; then false; fi # it has a taint
doctor plain
grep -q 'pod of a machine (dry run)' doctor.txt
if grep -E '✗|failed' doctor.txt; then cat doctor.txt; false; fi
experiment away 'timeout: 5m' 'context: agents@lba'
refused away 'agents@lba.*agents@lab may have been meant'
experiment wrong 'timeout: 5m, gpu: H100'
refused wrong 'H100'
experiment tainted 'timeout: 5m, gpu: T4'
refused tainted '1 × T4: no node that the pod may use has it'
experiment nowhere 'timeout: 5m' 'namespace: nowhere'
refused nowhere 'nowhere'
experiment listed 'timeout: 10m, network: [example.org]'
refused listed 'cannot limit the sandbox to a list of hosts'
as_admin delete clusterrolebinding seer >/dev/null
experiment named 'timeout: 5m, gpu: A100, gpu_count: 2' 'gpu: A100'
fails_within 120 'you may not list nodes' "$SEER" up two.yaml --yes -q
starts named
await on_one
"$SEER" down named -q >/dev/null
if wait $starting; then false; fi
as_admin apply -n agents -f "$TOP/docs/providers/kubernetes-rbac.yaml" >/dev/null
as_admin delete rolebinding -n agents seer >/dev/null
refused plain 'cannot .*resource "pods".*kubernetes-rbac.yaml'
doctor plain
grep -q 'right to create pods in agents' doctor.txt
as_admin apply -n agents -f "$TOP/docs/providers/kubernetes-rbac.yaml" >/dev/null

part "what a namespace does not allow"
as_admin label namespace agents pod-security.kubernetes.io/enforce=restricted >/dev/null
refused plain 'allows no such pods: violates PodSecurity.*security: restricted'
doctor plain
grep -q 'violates PodSecurity' doctor.txt
experiment strict 'timeout: 20m' 'security: restricted'
starts strict
"$SEER" down strict -q >/dev/null
if wait $starting; then false; fi
as_admin label namespace agents pod-security.kubernetes.io/enforce- >/dev/null
as_admin create quota few -n agents --hard=requests.nvidia.com/gpu=1 >/dev/null
await 'as_admin get quota few -n agents -o jsonpath={.status.hard} | grep -q nvidia'
refused two 'quota few'
as_admin delete quota few -n agents >/dev/null
as_admin create quota other -n agents --hard=pods=0 --scopes=NotTerminating >/dev/null # for pods without a deadline
as_admin create quota memory -n agents --hard=limits.memory=8Gi >/dev/null
await '[ "$(as_admin get quota -n agents -o jsonpath={.items[*].status.hard} | grep -o : | wc -l)" = 2 ]'
refused plain 'counts what the machine does not ask for: .*must specify limits.memory.*sandbox.memory'
as_admin delete quota memory -n agents >/dev/null
as_admin create -n agents -f - >/dev/null <<'Y'
{apiVersion: v1, kind: LimitRange, metadata: {name: limits}, spec: {limits: [{type: Container, max: {memory: 1Gi}, default: {memory: 512Mi}, defaultRequest: {memory: 256Mi}}]}}
Y
experiment large 'timeout: 5m, memory: 2GB'
refused large 'LimitRange.*maximum memory usage per Container is 1Gi'
starts plain
test "$(as_admin get pods -n agents -o 'jsonpath={.items[0].spec.containers[0].resources.limits.memory}')" = 512Mi
test "$(as_admin get pods -n agents -o 'jsonpath={.items[0].spec.activeDeadlineSeconds}')" = 1200
"$SEER" down plain -q >/dev/null
if wait $starting; then false; fi
as_admin delete limitrange limits -n agents >/dev/null
as_admin delete quota other -n agents >/dev/null
as_admin create -f - >/dev/null <<'Y'
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: team}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "'team' in object.metadata.labels", message: "a pod needs the label team"}]
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: team}, spec: {policyName: team, validationActions: [Deny]}}
Y
await 'doctor plain; grep -q "a pod needs the label team" doctor.txt'
refused plain 'a pod needs the label team'
as_admin delete validatingadmissionpolicybinding,validatingadmissionpolicy team >/dev/null
await 'doctor plain; ! grep -q "a pod needs the label team" doctor.txt'
experiment queued 'timeout: 5m' 'queue: team-a'
refused queued 'the queue team-a has no effect: Kueue does not manage pods of the namespace agents'

part "waiting: for a limited time, with the next provider, through an API server that is killed"
blocker full "" "cpu: 4"
await '[ "$(as_admin get pod full -o jsonpath={.spec.nodeName})" = one ]'
fails_within 120 'Insufficient cpu' "$SEER" up plain.yaml --name plain --max-wait 30s --yes -q
await '! pods | grep -q .'
cat >either.yaml <<'Y'
name: either
sandbox: {provider: [kubernetes, local], timeout: 10m, cpu: 1, network: none, max_wait: 3s, provider_options: {kubernetes: {image: "localhost/python:1"}}}
serve: [{file: interface.py, expose_as: library, name: tools}]
Y
"$SEER" up either.yaml --name either --yes -q >/dev/null
test "$("$SEER" call either tools.echo text=local)" = '"local"'
"$SEER" ls | grep -q 'either .*local'
"$SEER" down either -q >/dev/null
await '! pods | grep -q .'
starts plain
hold apiserver kube-apiserver
sleep 3
release apiserver
await 'as_admin get --raw /readyz >/dev/null 2>&1'
kill -0 $starting # it waits on
gone full
await on_one

part "a killed seer, and another one beside it"
kill -9 $starting
wait $starting 2>/dev/null || true
HOME=$PWD/other "$SEER" gc --provider kubernetes >/dev/null 2>&1 # another installation's, which leaves the pod
pods | grep -q .
await '"$SEER" gc --provider kubernetes >/dev/null 2>&1; ! pods | grep -q .'

part "preempted by a pod of higher priority: the start takes the next provider"
sed 's/max_wait: 3s/max_wait: 2m/' either.yaml >preempted.yaml # so that it comes onto the node in any case
"$SEER" up preempted.yaml --name either --yes >either.txt 2>&1 &
starting=$!
await on_one
blocker urgent urgent "cpu: 4"
wait $starting || { cat either.txt; false; }
grep -q preempted either.txt || { cat either.txt; false; }
"$SEER" ls | grep -q 'either .*local'
"$SEER" down either -q >/dev/null
gone urgent
await '! pods | grep -q .'

part "credentials: an old token, an exec plugin"
kubectl config set-credentials old --token=none >/dev/null
kubectl config set-context old --cluster=lab --user=old --namespace=agents >/dev/null
kubectl config use-context old >/dev/null
fails_within 120 'does not accept the token in the kubeconfig' "$SEER" offers --provider kubernetes
kubectl config view --raw -o 'jsonpath={.users[?(@.name=="seer")].user.token}' >token
mkdir logins
cat >logins/lab-login <<'P'
#!/bin/sh
cd "$(dirname "$0")/.."
[ -e token ] || { echo "the session has ended: run lab-login" >&2; exit 1; }
token=$(cat token)
[ -e asked ] || token=stale # at first one that was valid for too long
echo >>asked
printf '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "%s"}}' "$token"
P
chmod +x logins/lab-login
export PATH=$PWD/logins:$PATH
kubectl config set-credentials plugin --exec-command=lab-login --exec-api-version=client.authentication.k8s.io/v1 --exec-interactive-mode=Never >/dev/null
kubectl config set-context plugin --cluster=lab --user=plugin --namespace=agents >/dev/null
kubectl config use-context plugin >/dev/null
"$SEER" offers --provider kubernetes --gpu '*' | grep -q A100
test "$(wc -l <asked)" -ge 2
mv token hidden
fails_within 120 'the session has ended: run lab-login' "$SEER" offers --provider kubernetes

part "an API behind a proxy, below a path"
kubectl --context agents@lab proxy --port=8001 --api-prefix=/k8s/clusters/c-1 >proxy.txt 2>&1 &
proxy=$!
kubectl config set-cluster below --server=http://127.0.0.1:8001/k8s/clusters/c-1 >/dev/null
kubectl config set-context below --cluster=below --namespace=agents >/dev/null
kubectl config use-context below >/dev/null
await '"$SEER" offers --provider kubernetes --gpu "*" 2>/dev/null | grep -q A100'
starts plain
await on_one
"$SEER" down plain -q >/dev/null
if wait $starting; then false; fi
kill $proxy
wait $proxy 2>/dev/null || true
kubectl config use-context agents@lab >/dev/null
kubectl config delete-context below >/dev/null

part "nothing is left"
"$SEER" down --all -q
"$SEER" gc --provider kubernetes >/dev/null
await '[ -z "$(as_admin get pods,networkpolicies,persistentvolumeclaims -n agents -o name)" ]'
