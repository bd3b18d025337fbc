# A model once for all hosts that share a folder: docs/providers/ssh.md#volumes. Two hosts with a home
# of their own, real sshd each, have the same volumes_dir, and two sandboxes that start at once want
# the same model. Hosts and Hub are behind a network of their own: a sandbox reaches no loopback but its own.
[ "$(id -u)" = 0 ] || { echo "ssh-models.sh lacks root's rights, for network namespaces" >&2; exit 1; }
if [ -z "${SEER_E2E_NET:-}" ]; then
  exec env SEER_E2E_NET=1 unshare --net --mount --propagation private bash -eEuo pipefail "$TOP/e2e/ssh-models.sh"
fi
. "$TOP/e2e/ssh/lab.sh"
export PATH=$PATH:/usr/sbin:/sbin SEER_PYTHON
SEER_PYTHON=$("$TOP/scripts/python")
tools=$("$TOP/e2e/hub-clients/install.sh")
home=$(eval echo "~$(id -un)") # for the caches of the Go tools
(cd "$TOP" && HOME=$home go build -o "$E2E_WORK/fake" ./e2e/hub-clients)

# The Internet: a second namespace, where the Hub is.
ip link set lo up
unshare --net -- sleep infinity &
internet=$!
trap '"$SEER" down --all -q >/dev/null 2>&1 || true; stop_sshd box other; kill $internet' EXIT
until [ "$(readlink "/proc/$internet/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
beyond() { nsenter --net="/proc/$internet/ns/net" "$@"; }
ip link add up0 type veth peer name up1 netns "$internet"
ip addr add 198.51.100.1/24 dev up0
ip link set up0 up
beyond ip link set lo up
beyond ip addr add 198.51.100.254/24 dev up1
beyond ip addr add 203.0.113.7/32 dev lo
beyond ip link set up1 up
ip route add default via 198.51.100.254
mkfifo stop
HUB_ADDRESS=203.0.113.7 beyond "$E2E_WORK/fake" "$E2E_WORK/expected" <stop >env 2>log &
hub=$!
exec 9>stop # the fake ends with it
trap 'cat env log' ERR
until grep -q '^$' env; do kill -0 "$hub" && sleep 0.05; done
set -a && . ./env && set +a
bytes() { # of files that the fake has sent so far
  rm -f sent && echo sent >&9
  until [ -e sent ]; do sleep 0.05; done
  cat sent
}

# A second host, with a home of its own. What both share is a folder.
mkdir -m 700 "$LAB/home2" "$LAB/run2" "$LAB/shared"
ssh-keygen -q -t ed25519 -N '' -f "$LAB/other"
OTHER_PORT=$(python3 "$TOP/e2e/freeport.py")
conf other "$OTHER_PORT" <<CONF
SetEnv HOME=$LAB/home2 XDG_RUNTIME_DIR=$LAB/run2 SEER_E2E=$SEER_E2E
CONF
echo "[127.0.0.1]:$OTHER_PORT $(cut -d' ' -f1,2 "$LAB/other.pub")" >>"$HOME/.ssh/known_hosts"
printf 'Host other\n  Port %s\n' "$OTHER_PORT" >>"$HOME/.ssh/config"
start_sshd box other 9>&-

cat >interface.py <<'P'
import hashlib, os

@expose
def weights() -> str:
    with open(os.path.join(get_model_path("org/model"), "model.safetensors"), "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()

@expose
def found() -> str:
    "What a client of the Hub finds by the name of the model."
    home = os.path.expanduser("~/.cache/huggingface/hub/models--org--model")
    with open(os.path.join(home, "refs", "main")) as f:
        commit = f.read()
    with open(os.path.join(home, "snapshots", commit, "config.json")) as f:
        return f.read()
P
experiment() { # NAME HOST, another key of sandbox instead of the volume
  local more=${3:-}
  [ -n "$more" ] || more='volumes: [{name: models, path: /model-volume, models: true}]'
  cat >"$1.yaml" <<Y
name: $1
sandbox:
  provider: ssh
  timeout: 20m
  models: [org/model]
  provider_options: {ssh: {host: $2, volumes_dir: $LAB/shared}}
  $more
serve: [{file: interface.py, expose_as: library, name: tools}]
Y
}
same() { # NAME: the sandbox has the model
  test "$("$SEER" call "$1" tools.weights)" = "\"$(sha256sum <expected/org--model/model.safetensors | cut -d' ' -f1)\""
  "$SEER" call "$1" tools.found | grep -q gpt2
}

echo "== two hosts at once: the bytes come once, and not through this computer"
experiment one box
experiment two other
before=$(bytes)
"$SEER" up one.yaml --name one --yes >one.log 2>&1 9>&- &
one=$!
"$SEER" up two.yaml --name two --yes >two.log 2>&1 9>&- || { cat two.log; exit 1; }
wait $one || { cat one.log; exit 1; }
grep -h 'org/model' one.log two.log
if grep -q 'this computer' one.log two.log; then cat one.log two.log; exit 1; fi
same one
same two
size=$(find expected/org--model -type f -printf '%s\n' | awk '{ n += $1 } END { print n }')
sent=$(($(bytes) - before))
echo "the Hub has sent $sent bytes for $size bytes of files"
[ "$sent" -le $((size * 11 / 10)) ]
for n in one two; do "$SEER" down $n -q; done

echo "== the layout is the Hub's: its own client reads the folder offline, and downloads nothing"
cache=$LAB/shared/models/hub
HF_HUB_OFFLINE=1 "$tools/python/bin/python" -B - "$cache" expected/org--model <<'P' 9>&-
import filecmp, os, sys
from huggingface_hub import scan_cache_dir, snapshot_download
cache, expected = sys.argv[1:]
folder = snapshot_download("org/model", cache_dir=cache, allow_patterns=["*.json", "*.safetensors"])
for name in "config.json", "model.safetensors", "floats.safetensors":
    path = os.path.join(folder, name)
    assert os.path.islink(path) and not os.path.isabs(os.readlink(path)), path
    assert filecmp.cmp(path, os.path.join(expected, name), shallow=False), name
seen = scan_cache_dir(cache)
assert not seen.warnings, seen.warnings
print("huggingface_hub sees", sorted(r.repo_id for r in seen.repos))
P

echo "== a later sandbox takes what is there"
before=$(bytes)
"$SEER" up two.yaml --name again --yes -q >/dev/null 9>&-
same again
[ "$(bytes)" = "$before" ]
"$SEER" down again -q

echo "== without a network the files go through this computer, also if the connection is cut"
experiment closed box 'network: none'
"$SEER" up closed.yaml --name closed --yes >closed.log 2>&1 9>&- &
up=$!
until grep -q 'org/model' closed.log || ! kill -0 $up 2>/dev/null; do sleep 0.05; done
for _ in 1 2 3; do
  sleep 0.3
  pgrep -f "ssh -F $HOME/.ssh/config" | xargs -r kill -9 2>/dev/null || true
done
wait $up || { cat closed.log; exit 1; }
same closed
"$SEER" down closed -q

echo "== nothing is left but the volume"
"$SEER" gc --provider ssh >/dev/null
test -d "$cache/models--org--model"
test -z "$(find "$LAB/home/.local/state/seer/local" "$LAB/home2/.local/state/seer/local" -name '*.json')"
exec 9>&-
wait "$hub" || { cat log; exit 1; }
