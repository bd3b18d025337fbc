# An administrator's policy of a host binds those who come by SSH: docs/administrators.md. The host has
# an /etc of its own, the computer of the user has no policy, and the user tries what users can.
[ "$(id -u)" = 0 ] || { echo "ssh-policy.sh lacks root's rights, who alone can be the administrator" >&2; exit 1; }
. "$TOP/e2e/ssh/lab.sh"
trap '"$SEER" down --all -q >/dev/null 2>&1 || true; stop_sshd box' EXIT
export SEER_PYTHON SEER_SSH_HOSTS=box
SEER_PYTHON=$("$TOP/scripts/python")
mkdir "$LAB/over"
cat >"$LAB/bin/sshd" <<SSHD
#!/bin/sh
exec unshare --mount --propagation private sh -c '
  mount -t tmpfs tmpfs $LAB/over && mkdir $LAB/over/up $LAB/over/work
  mount -t overlay overlay -o lowerdir=/etc,upperdir=$LAB/over/up,workdir=$LAB/over/work /etc
  useradd -d $LAB/home -s /bin/bash mallory && usermod -p "*" mallory && chown -R mallory $LAB/home $LAB/run
  exec /usr/sbin/sshd "\$@"' sh "\$@"
SSHD
chmod +x "$LAB/bin/sshd"
chmod 711 "$PWD" "$LAB"
chmod 644 "$LAB/authorized_keys"
sed -i "s/  User .*/  User mallory/" "$HOME/.ssh/config"
# What a user can set on a host, by files of the home folder: nothing of it names another policy.
sed -i "s|^SetEnv |SetEnv SEER_POLICY=$LAB/home/policy.yaml SEER_POLICY_FILE=$LAB/home/policy.yaml XDG_CONFIG_HOME=$LAB/home/etc XDG_CONFIG_DIRS=$LAB/home/etc |" "$LAB/box.conf"
mkdir -p "$LAB/home/etc/seer"
echo 'networks: [open, host]' | tee "$LAB/home/policy.yaml" >"$LAB/home/etc/seer/policy.yaml"
start_sshd box
as_root() { nsenter -t "$(cat "$LAB/box.pid")" -m "$@"; }
rule() { as_root sh -c 'mkdir -p /etc/seer && cat >/etc/seer/policy.yaml'; }
printf 'name: try\nsandbox: {provider: ssh, timeout: 10m}\n' >try.yaml
refused() { # WORDS, more arguments of up
  local want=$1 code=0
  shift
  "$SEER" up try.yaml --name try --yes "$@" >out.txt 2>&1 || code=$?
  [ $code != 0 ] && grep -qF -- "$want" out.txt || { echo "exit code $code, and not: $want" && cat out.txt && return 1; }
  [ "$("$SEER" ls --json)" = "[]" ]
}
test "$(ssh box id -un </dev/null)" = mallory

echo "== without a policy, and as the policy allows"
"$SEER" up try.yaml --name try --yes -q >/dev/null
rule <<<$'networks: [none]\nisolations: [bubblewrap, gvisor]'
"$SEER" down try -q
"$SEER" up try.yaml --name try --yes -q --set sandbox.network=none >/dev/null
"$SEER" down try -q

echo "== what it does not allow"
refused 'the network "open" is not allowed'
refused 'the isolation "none" is not allowed' --set sandbox.network=none --set sandbox.isolation=none
rule <<<'providers: [modal]'
refused 'the provider "local" is not allowed'
if "$SEER" doctor --provider ssh >out.txt 2>&1; then cat out.txt && exit 1; fi
grep -q '!!  administrator.s policy on box.*the provider "local" is not allowed' out.txt || { cat out.txt && exit 1; }
rule <<<'providers: []'
refused 'the provider "local" is not allowed'

echo "== the user cannot change it, and a broken one allows nothing"
for attack in 'echo "providers: [local]" >/etc/seer/policy.yaml' 'ln -sf ~/policy.yaml /etc/seer/policy.yaml' 'mv /etc/seer /etc/old'; do
  if ssh box "$attack" </dev/null 2>/dev/null; then echo "the user could: $attack" && exit 1; fi
done
refused 'the provider "local" is not allowed'
as_root ln -sf "$LAB/home/policy.yaml" /etc/seer/policy.yaml # an administrator's mistake: the user's file
refused 'others than root can change'
as_root ln -sf "$LAB/home/missing.yaml" /etc/seer/policy.yaml # and a link that the user has broken
refused 'the policy of this computer cannot be read'
as_root rm /etc/seer/policy.yaml
rule <<<'network: [none]'
refused 'did you mean "networks"'
as_root rm /etc/seer/policy.yaml
"$SEER" up try.yaml --name try --yes -q >/dev/null
"$SEER" down try -q
