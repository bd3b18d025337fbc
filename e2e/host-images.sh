# Images on hosts and clusters, as docs/providers/ssh.md and slurm.md have it, with a real sshd and
# real daemons of Slurm: a folder, a squashfs file and a SIF file, and a notebook with packages in
# it; what is refused, and where; at the end nothing is left.
export PATH=$PATH:/usr/sbin
lacks=
for program in mksquashfs unsquashfs sshd; do
  command -v $program >/dev/null || lacks="$program (packages squashfs-tools openssh-server: scripts/setup test)"
done
[ -z "$lacks" ] || { echo "e2e/host-images.sh lacks $lacks" >&2; exit 1; }
chmod 755 "$PWD"
images=$PWD/images
mkdir -m 755 "$images"
python3 "$TOP/e2e/images/make.py" system "$images/system"
mksquashfs "$images/system" "$images/lab.sqsh" -noappend -no-progress -all-root >/dev/null
python3 "$TOP/e2e/images/make.py" sif "$images/lab.sqsh" "$images/lab.sif"
chmod -R a+rX "$images"
export SEER_PYTHON
SEER_PYTHON=$("$TOP/scripts/python")
cat >interface.py <<'P'
import os, sys

@expose
def where() -> str:
    return " ".join([sys.executable, os.environ["OF_IMAGE"], open("/etc/image").read().strip()])
P
experiment() { # NAME PROVIDER BASE, more keys of sandbox
  printf 'name: %s\nsandbox:\n  provider: %s\n  image: {base: "%s"}\n  timeout: 30m%s\nserve: [{file: interface.py, expose_as: library, name: tools}]\n' "$1" "$2" "$3" "${4:-}" >"$1.yaml"
}
inside() { # NAME: it runs in the image, of which nothing can be changed
  test "$("$SEER" call "$1" tools.where)" = '"/opt/python/bin/python3 one two of the image"'
  "$SEER" exec "$1" -- sh -c 'cat /etc/image; ls /usr/bin' >inside.txt
  grep -qx 'of the image' inside.txt
  if grep -qx apt-get inside.txt; then cat inside.txt; false; fi
  if "$SEER" exec "$1" -- sh -c 'echo x >/opt/new' 2>/dev/null; then false; fi
}
refused() { # WHAT, arguments of seer up
  if "$SEER" up "${@:2}" --yes -q >out.txt 2>err.txt; then cat out.txt; false; fi
  grep -q -- "$1" err.txt || { cat err.txt; false; }
}

echo "== what is refused before anything starts, with the line of the key"
experiment here local "$images/lab.sif"
refused 'here.yaml:4: sandbox.image.base: provider `local` takes images of registries, and this is a path' here.yaml
experiment wrong ssh ./lab.sif
refused 'wrong.yaml:4: sandbox.image.base: `./lab.sif` is not absolute' wrong.yaml
experiment wrong ssh docker://python:3.12
refused 'wrong.yaml:4: sandbox.image.base: .*write `python:3.12`' wrong.yaml

echo "== a host"
. "$TOP/e2e/ssh/lab.sh"
trap '"$SEER" down --all -q >/dev/null 2>&1 || true; stop_sshd box' EXIT
start_sshd box
export SEER_SSH_HOSTS=box
experiment wrong ssh "$images/lab.sif" $'\n  isolation: none'
refused 'wrong.yaml:4: sandbox.image: without isolation' wrong.yaml
experiment wrong ssh "$images/lab.sif" $'\n  python_version: "3.12"'
refused 'wrong.yaml:6: sandbox.python_version: .*takes an image as it is' wrong.yaml
experiment wrong ssh "$images/none.sif"
refused "image $images/none.sif on box: .*no such file" wrong.yaml
for kind in system lab.sqsh lab.sif; do
  experiment "${kind#lab.}" ssh "$images/$kind"
  if [ $kind = lab.sif ]; then
    "$SEER" plan sif.yaml >plan.txt
    grep -q "start from $images/lab.sif on machines of ssh, which the sandbox can read" plan.txt
    if "$SEER" up sif.yaml -q </dev/null >out.txt 2>err.txt; then cat out.txt; false; fi
  fi
  "$SEER" up "${kind#lab.}.yaml" --name "${kind#lab.}" --yes -q >/dev/null
  inside "${kind#lab.}"
done
experiment notebook ssh "$images/lab.sif" $'\n  execution_mode: notebook\n  python_packages: [einops]'
"$SEER" up notebook.yaml --name notebook --yes -q >/dev/null
python3 "$TOP/e2e/ssh/session.py" notebook notebook
PYTHONPATH=$TOP/e2e/cloud-sessions python3 -c '
from tools import MCP
mcp = MCP("--notebook", "notebook", "--out", "cells")
mcp.call("start_new_session", experiment_name="e2e")
print(mcp.cell("""import einops; print(open("/etc/image").read().strip(), einops.__name__)""").strip())
mcp.close()' >cell.txt
grep -qx 'of the image einops' cell.txt || { cat cell.txt; false; }
"$SEER" down notebook -q
"$SEER" doctor --provider ssh --file sif.yaml --set sandbox.network=none >checks.txt
grep -q "^ok  image $images/lab.sif on box" checks.txt
grep -q '^ok  unsquashfs on box' checks.txt
test "$(ls "$LAB/home/.cache/seer/images/roots" | wc -l)" = 2
touch -d '1 hour ago' "$LAB"/home/.cache/seer/images/roots/*/root.json
"$SEER" down sqsh -q
"$SEER" gc --provider ssh >gc.txt
grep -q "image $images/lab.sqsh" gc.txt
if grep -q "image $images/lab.sif" gc.txt; then cat gc.txt; false; fi
inside sif
"$SEER" down --all -q
"$SEER" gc --provider ssh >gc.txt
grep -q "image $images/lab.sif" gc.txt
test -z "$(find "$LAB/home/.cache/seer/images" -type f)"
stop_sshd box

echo "== a cluster"
for program in slurmctld slurmd munged; do
  command -v $program >/dev/null || { echo "e2e/host-images.sh lacks $program (packages slurmctld slurmd slurm-client munge: scripts/setup e2e)" >&2; exit 1; }
done
LAB=$PWD/cluster
mkdir -m 755 "$LAB"
NODES=1
. "$TOP/e2e/slurm/start.sh"
for kind in system lab.sqsh lab.sif; do
  experiment "slurm-${kind#lab.}" slurm "$images/$kind"
  "$SEER" up "slurm-${kind#lab.}.yaml" --name "slurm-${kind#lab.}" --yes -q >/dev/null
  inside "slurm-${kind#lab.}"
  login 'cat ~/.local/state/seer-slurm/*/log' >job.txt
  if [ $kind != system ]; then grep -q "$images/$kind: unpacked .* in .* files" job.txt || { cat job.txt; false; }; fi
  "$SEER" down "slurm-${kind#lab.}" -q
done
experiment none slurm "$images/none.sif"
"$SEER" doctor --provider slurm --file none.yaml --set sandbox.network=none >checks.txt || true
grep -q "^--  image $images/none.sif on login .*no such file" checks.txt || { cat checks.txt; false; }
refused "the image $images/none.sif: there is no such file" none.yaml
for _ in $(seq 240); do # the folder of a job goes with its last process
  login "squeue -h; ls -d /tmp/seer-$SLURM_PORT-* 2>/dev/null || true" >left.txt
  [ -s left.txt ] || break
  sleep 0.25
done
test ! -s left.txt || { cat left.txt; false; }
"$SEER" down --all -q
"$SEER" gc --provider slurm >/dev/null
test "$(login 'squeue -h; ls ~/.local/state/seer-slurm; find ~/.cache/seer -type f ! -path "*/host/*"')" = ""
