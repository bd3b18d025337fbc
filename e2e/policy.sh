# An administrator's policy, in a mount namespace that has an /etc of its own.
[ "$(id -u)" = 0 ] || { echo "policy.sh: only root can be the administrator"; exit 1; }
if [ -z "${SEER_E2E_ETC:-}" ]; then
  exec env SEER_E2E_ETC=1 unshare --mount --propagation private bash -eEuo pipefail "$TOP/e2e/policy.sh"
fi
mkdir etc work
mount -t tmpfs tmpfs work
mkdir work/upper work/work
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$PWD/work/upper,workdir=$PWD/work/work" /etc
mkdir -p /etc/seer
trap '"$SEER" down --all >/dev/null 2>&1 || true' EXIT
rule() { cat >/etc/seer/policy.yaml; }
refused() { # refused TEXT COMMAND…
  local want=$1 code=0
  shift
  "$@" >out 2>&1 || code=$?
  if [ $code -eq 0 ] || ! grep -qF -- "$want" out; then
    echo "exit code $code, and not: $want"
    cat out
    return 1
  fi
}
cp -r "$TOP/examples/induction-heads" demo
cd demo

echo "== without a policy"
"$SEER" up seer.yaml --name free --json >up.json
! "$SEER" doctor | grep "administrator's policy"

echo "== networks and isolations"
rule <<<$'networks: [none]\nisolations: [bubblewrap, gvisor]'
"$SEER" ls | grep free # what runs goes on
"$SEER" down free
"$SEER" doctor | grep "administrator's policy.*networks: none; isolations: bubblewrap, gvisor"
"$SEER" up seer.yaml --set sandbox.network=none --name closed --json >up.json
"$SEER" down closed
refused 'the network "open" is not allowed on this computer: networks in /etc/seer/policy.yaml allows none' "$SEER" config check seer.yaml --set sandbox.network=open
refused 'the network "open" is not allowed' "$SEER" up seer.yaml --set sandbox.network=open
refused 'the isolation "none" is not allowed' "$SEER" up seer.yaml --set sandbox.network=none --set sandbox.isolation=none --yes

echo "== providers"
rule <<<'providers: [modal]'
refused 'the provider "local" is not allowed on this computer' "$SEER" plan seer.yaml --set sandbox.provider=local

echo "== plugins"
rule <<<'plugins: {signatures: require, registries: [plugins.example]}'
"$SEER" plugin policy | grep require
"$SEER" plugin policy | grep plugins.example

echo "== a broken policy allows nothing"
rule <<<'network: [none]'
refused '/etc/seer/policy.yaml:1: ' "$SEER" up seer.yaml
refused 'did you mean "networks"' "$SEER" config check seer.yaml
rule <<<'networks: [none, open]'
chmod 666 /etc/seer/policy.yaml
refused 'others than root can change /etc/seer/policy.yaml' "$SEER" up seer.yaml
refused 'others than root can change' "$SEER" doctor
rm /etc/seer/policy.yaml
"$SEER" up seer.yaml --name again --json >up.json
"$SEER" down again
[ -z "$("$SEER" ls --json | python3 -c 'import json, sys; print("".join(s["name"] for s in json.load(sys.stdin)))')" ]
