# A Slurm cluster with the user alice, her login node as the host `login` of ssh, and what tests ask it.
# To be sourced; everything is in $LAB. NODES is the number of nodes (2).
lacks=
[ "$(id -u)" = 0 ] || lacks="root's rights, for namespaces and daemons of several users"
for program in slurmctld slurmd munged sshd; do
  PATH=$PATH:/usr/sbin command -v $program >/dev/null || lacks="$program (packages slurmctld slurmd slurm-client munge openssh-server: scripts/setup e2e)"
done
[ -r /etc/profile.d/modules.sh ] || lacks="modules (package environment-modules: scripts/setup e2e)"
[ "${SLURM_TRACK:-}" != cgroup ] || [ -d /sys/fs/cgroup/freezer ] || lacks="control groups of version 1, for SLURM_TRACK=cgroup"
[ -z "$lacks" ] || { echo "e2e lacks $lacks" >&2; exit 1; }
export PATH=$PATH:/usr/sbin

LAB=$PWD/lab
mkdir -m 755 "$LAB"
mkdir -m 700 "$LAB/own"
export XDG_RUNTIME_DIR=$LAB/own # the connections of ssh are this test's, as another one may have a host of this name
chmod 755 "$PWD"
export SLURMD_TIMEOUT=10
if [ -n "${SLURM_DBD:-}" ]; then
  export SLURM_AGE=2 # the controller soon forgets jobs, which only accounting knows then
  for program in slurmdbd mariadbd; do
    command -v $program >/dev/null || { echo "e2e with SLURM_DBD lacks $program (packages slurmdbd mariadb-server-core mariadb-client-core: scripts/setup e2e)" >&2; exit 1; }
  done
fi
. "$TOP/e2e/slurm/start.sh"
await() { # what is to become true, within two minutes
  local n
  for n in $(seq 480); do
    ! eval "$1" || return 0
    kill -0 $cluster || break
    sleep 0.25
  done
  echo "waited in vain: $1" >&2
  cat "$LAB/log" >&2
  login 'squeue -t all; tail -n 3 ~/.local/state/seer-slurm/*/log ~/.local/state/seer-slurm/*/state.json' >&2 || true
  return 1
}
mkdir -m 700 "$LAB/bin"
# ssh reads the home of the password file, which is not this test's.
printf '#!/bin/sh\nexec %s -F %s "$@"\n' "$(command -v ssh)" "$HOME/.ssh/config" >"$LAB/bin/ssh"
chmod +x "$LAB/bin/ssh"
export PATH=$LAB/bin:$PATH SEER_PYTHON
SEER_PYTHON=$("$TOP/scripts/python")
inside() { nsenter -t "$(pgrep -P $cluster)" -m -p -u -i "$@"; } # as root of the cluster
job() { login "squeue -h -t RUNNING,PENDING -o %i --sort=-i | head -n 1"; }
state() { "$SEER" ls --refresh --all --json 2>/dev/null | python3 -c '
import json, sys
rows = json.load(sys.stdin)
print(*[(r["state"], r.get("message", "")) for r in rows if r.get("name") == sys.argv[1]][-1:])' "$1"; }
# With control groups, Slurm kills all of a job at once, and the next job on the node removes the folder.
nothing_on_nodes() { ! login "[ '${SLURM_TRACK:-}' != cgroup ] && ls -d /tmp/seer-$SLURM_PORT-* ||"' pgrep -u alice -f "[j]ob serve|[j]ob guard|[w]atchdog|[b]wrap "' >left.txt 2>/dev/null; }
