# Starts a Slurm cluster of NODES nodes (2) with the user alice in the folder $LAB. Her login node is
# the host `login` of ssh. The trap ends the cluster. To be sourced.
#
# Each script takes a thousand ports, below those of freeport.py, with a lock that lasts until all of its processes have ended.
unused() { # PORT: nobody listens at the hundred from it on, of which the daemons take some
  python3 -c 'import socket, sys; [socket.create_server(("127.0.0.1", int(sys.argv[1]) + n)).close() for n in range(100)]' "$1" 2>/dev/null
}
mkdir -p "$TOP/.tools/slurm-ports"
for SLURM_PORT in $(shuf -e {10..19}000); do
  exec {lock}>"$TOP/.tools/slurm-ports/$SLURM_PORT"
  if flock -n "$lock" && unused "$SLURM_PORT"; then break; fi
  exec {lock}>&-
  SLURM_PORT=
done
[ -n "$SLURM_PORT" ] || { echo "e2e/slurm finds no unused ports from 10000 to 19999" >&2; false; }
ssh-keygen -q -t ed25519 -N '' -f "$LAB/id"
SSH_PORT=$(python3 "$TOP/e2e/freeport.py")
export SSH_PORT SLURM_PORT SEER_SLURM_HOST=login
"$TOP/e2e/slurm/cluster" "$LAB" "${NODES:-2}" >"$LAB/log" 2>&1 &
cluster=$!
trap '"$SEER" down --all -q >/dev/null 2>&1 || true; kill -9 $cluster; wait $cluster 2>/dev/null || true' EXIT
for _ in $(seq 480); do
  [ ! -e "$LAB/ready" ] && kill -0 $cluster 2>/dev/null || break
  sleep 0.25
done
[ -e "$LAB/ready" ] || { cat "$LAB/log" >&2; false; }
mkdir -p -m 700 "$HOME/.ssh"
cat >"$HOME/.ssh/config" <<CONF
Host login
  HostName 127.0.0.1
  Port $SSH_PORT
  User alice
  IdentityFile $LAB/id
  IdentitiesOnly yes
  UserKnownHostsFile $HOME/.ssh/known_hosts
CONF
echo "[127.0.0.1]:$SSH_PORT $(cut -d' ' -f1,2 "$LAB/host.pub")" >"$HOME/.ssh/known_hosts"
login() { ssh login "$1" </dev/null; }
