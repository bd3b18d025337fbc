# The node of a cluster: containerd, a kubelet with pretend GPUs, a network between pods. For
# e2e/kubernetes/cluster, which sources it.

prepare_node() {
  mkdir -p "$dir"/disk/{containerd,kubelet} /var/lib/{containerd,kubelet} /etc/cni/net.d /etc/containerd
  for d in containerd kubelet; do mount --bind "$dir/disk/$d" /var/lib/$d; done
  mount --make-rshared /
  LD_LIBRARY_PATH=$(dirname "$(find "$tools/daemons" -name 'libseccomp.so.2' | head -n 1)")
  export LD_LIBRARY_PATH
  make_devices
  make_groups
}

make_devices() {
  # Pretend GPUs, which are device nodes and a program in place of nvidia-smi.
  mkdir -p "$dir/over/dev"
  mount -t tmpfs -o mode=755 tmpfs "$dir/over/dev"
  for name in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0 kmsg:1:11; do
    IFS=: read -r name major minor <<<"$name"
    mknod -m 666 "$dir/over/dev/$name" c "$major" "$minor"
  done
  for i in $(seq 0 $((gpus - 1))); do mknod -m 666 "$dir/over/dev/nvidia$i" c 1 3; done
  for d in pts shm mqueue; do
    mkdir "$dir/over/dev/$d"
    [ ! -d "/dev/$d" ] || mount --rbind "/dev/$d" "$dir/over/dev/$d"
  done
  ln -s /proc/self/fd "$dir/over/dev/fd"
  ln -s pts/ptmx "$dir/over/dev/ptmx"
  for i in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${i%:*}" "$dir/over/dev/${i#*:}"; done
  mount --rbind "$dir/over/dev" /dev
  install -m 755 "$me/nvidia-smi" /etc/kubernetes/nvidia-smi
}

make_groups() {
  # Control groups of its own ($GROUP), below which the kubelet makes those of pods.
  for d in /sys/fs/cgroup /sys/fs/cgroup/*; do
    [ -e "$d/cgroup.procs" ] || continue
    mkdir -p "$d/$GROUP"
    [ ! -e "$d/cpuset.mems" ] || for f in cpuset.cpus cpuset.mems; do cat "$d/$f" >"$d/$GROUP/$f"; done
    [ ! -e "$d/cgroup.controllers" ] || break # version 2 has one tree
  done
}

start_containers() {
  cat >/etc/cni/net.d/10-bridge.conflist <<CONF
{"cniVersion": "0.4.0", "name": "lab", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.96.202.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "loopback"}]}
CONF
  # The OOM score of containers cannot be lowered where the tests run without CAP_SYS_RESOURCE.
  cat >/etc/containerd/config.toml <<CONF
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/python:1"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$tools/daemons/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
CONF
  keep containerd containerd
  wait_for ctr version
  ctr -n k8s.io images import "$tools/python.tar" >/dev/null

  cat >/etc/kubernetes/kubelet.yaml <<CONF
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: /$GROUP
enforceNodeAllocatable: []
failSwapOn: false
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
address: $address
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $dir/pki/ca.crt}}
authorization: {mode: Webhook}
evictionHard: {memory.available: 50Mi, nodefs.available: 1%, imagefs.available: 1%}
imageGCHighThresholdPercent: 100
makeIPTablesUtilChains: false
resolvConf: ""
nodeStatusUpdateFrequency: 2s
maxPods: 110
CONF
}

start_kubelet() {
  keep kubelet kubelet --config=/etc/kubernetes/kubelet.yaml --kubeconfig=kubelet.kubeconfig --hostname-override=node1 --node-ip=$address
  wait_for kubectl get node node1
  kubectl label node node1 nvidia.com/gpu.product=NVIDIA-A100-SXM4-40GB nvidia.com/gpu.memory=40960 nvidia.com/gpu.count="$gpus" >/dev/null
  wait_for test -S /var/lib/kubelet/device-plugins/kubelet.sock
  keep gpus gpus "$gpus" /etc/kubernetes/nvidia-smi
  kubectl wait --for=condition=Ready node/node1 --timeout=120s >/dev/null
  has_gpus() { [ "$(kubectl get node node1 -o 'jsonpath={.status.allocatable.nvidia\.com/gpu}')" = "$gpus" ]; }
  wait_for has_gpus
  touch "$dir/hold-policies"
  keep policies python3 -B "$me/policies.py" "$dir/kubeconfig"
}
