#!/usr/bin/env bash
# Starts, in the current folder, where bench/machines.py makes machines, with the real servers of
# e2e/; prints the variables with which it is used, and an empty line; ends when its input ends.
# usage: machines.sh ssh|slurm|kubernetes, with TOP
set -eEuo pipefail
export SEER_E2E=$PWD
tell() { # NAME…
  local name
  for name in "$@"; do echo "$name=${!name}"; done
  echo
  read -r || true
}
case $1 in
ssh)
  . "$TOP/e2e/ssh/lab.sh"
  trap 'stop_sshd box' EXIT
  start_sshd box
  # far is box, behind a network that needs a millisecond each way.
  mkfifo port
  python3 "$TOP/bench/peers/slow_wire.py" "$BOX_PORT" 0.001 >port &
  wire=$!
  trap 'kill $wire; stop_sshd box' EXIT
  read -r FAR_PORT <port
  printf 'Host far\n  Port %s\n' "$FAR_PORT" | cat - "$HOME/.ssh/config" >config
  mv config "$HOME/.ssh/config"
  echo "[127.0.0.1]:$FAR_PORT $(cut -d' ' -f1,2 "$LAB/box.pub")" >>"$HOME/.ssh/known_hosts"
  export SEER_SSH_HOSTS=box,far
  tell PATH XDG_RUNTIME_DIR SEER_SSH_HOSTS
  ;;
slurm)
  . "$TOP/e2e/ssh/lab.sh" # for its ssh, which reads the configuration of this folder
  SSH_PORT=$(python3 "$TOP/e2e/freeport.py") SLURM_PORT=$((20000 + RANDOM % 9000))
  export SSH_PORT SLURM_PORT SEER_SLURM_HOST=login
  mkdir -m 755 cluster
  chmod 755 "$PWD" "$PWD/.."
  cp "$LAB/user" cluster/id
  cp "$LAB/user.pub" cluster/id.pub
  "$TOP/e2e/slurm/cluster" "$PWD/cluster" 1 >cluster/log 2>&1 &
  cluster=$!
  trap 'kill -9 $cluster; wait $cluster 2>/dev/null || true' EXIT
  for _ in $(seq 600); do [ ! -e cluster/ready ] || break; sleep 0.1; done
  [ -e cluster/ready ] || { cat cluster/log >&2; exit 1; }
  printf 'Host login\n  Port %s\n  User alice\n' "$SSH_PORT" | cat - "$HOME/.ssh/config" >config
  mv config "$HOME/.ssh/config"
  echo "[127.0.0.1]:$SSH_PORT $(cut -d' ' -f1,2 cluster/host.pub)" >>"$HOME/.ssh/known_hosts"
  tell PATH XDG_RUNTIME_DIR SEER_SLURM_HOST
  ;;
kubernetes)
  . "$TOP/e2e/kubernetes/lab.sh"
  trap stop_cluster EXIT
  start_cluster
  tell PATH KUBECONFIG
  ;;
esac
