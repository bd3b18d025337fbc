# Two real sshd on the loopback, as ordinary processes: box, a host with a home of its own, and
# bastion, which only leads to it. To be sourced; everything is in $LAB.
LAB=$PWD/lab
mkdir -m 700 "$LAB" "$LAB/home" "$LAB/run"
me=$(id -un)
export XDG_RUNTIME_DIR=$LAB/own # the connections of ssh are this test's
mkdir -m 700 "$XDG_RUNTIME_DIR"
[ "$(id -u)" != 0 ] || mkdir -p /run/sshd # where sshd of root keeps nothing
for key in user box bastion; do ssh-keygen -q -t ed25519 -N '' -f "$LAB/$key"; done
cp "$LAB/user.pub" "$LAB/authorized_keys"
BOX_PORT=$(python3 "$TOP/e2e/freeport.py") BASTION_PORT=$(python3 "$TOP/e2e/freeport.py")

conf() { # NAME PORT, and more lines on standard input
  cat - /dev/fd/3 >"$LAB/$1.conf" 3<<CONF
Port $2
ListenAddress 127.0.0.1
HostKey $LAB/$1
AuthorizedKeysFile $LAB/authorized_keys
PidFile $LAB/$1.pid
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
CONF
}
# The user's home there is a folder of this test.
conf box "$BOX_PORT" <<CONF
SetEnv HOME=$LAB/home XDG_RUNTIME_DIR=$LAB/run SEER_E2E=$SEER_E2E
CONF
conf bastion "$BASTION_PORT" <<CONF
PermitTTY no
ForceCommand /bin/false
CONF

start_sshd() { # NAME…
  local name
  for name in "$@"; do
    "$(command -v sshd || echo /usr/sbin/sshd)" -D -f "$LAB/$name.conf" -E "$LAB/$name.log" &
    echo $! >"$LAB/$name.shell"
  done
  for name in "$@"; do
    for _ in $(seq 600); do
      [ ! -s "$LAB/$name.pid" ] && kill -0 "$(cat "$LAB/$name.shell")" 2>/dev/null || break
      sleep 0.1
    done
    [ -s "$LAB/$name.pid" ] || { cat "$LAB/$name.log"; return 1; }
  done
}

sshd_tree() { # PID…: these processes, and those of sshd below them
  local pid
  for pid in "$@"; do
    [[ $(cat "/proc/$pid/comm" 2>/dev/null) == sshd* ]] || continue
    echo "$pid"
    # shellcheck disable=SC2046
    sshd_tree $(pgrep -P "$pid")
  done
}

stop_sshd() { # NAME…, with all connections; what was started through them goes on
  local name
  for name in "$@"; do
    [ -s "$LAB/$name.pid" ] || continue
    # shellcheck disable=SC2046
    kill -9 $(sshd_tree "$(cat "$LAB/$name.pid")") 2>/dev/null || true
    wait "$(cat "$LAB/$name.shell")" 2>/dev/null || true
    rm -f "$LAB/$name.pid"
  done
}

mkdir -p -m 700 "$HOME/.ssh"
for name in box bastion; do
  port=BOX_PORT
  [ $name = box ] || port=BASTION_PORT
  echo "[127.0.0.1]:${!port} $(cut -d' ' -f1,2 "$LAB/$name.pub")" >>"$HOME/.ssh/known_hosts"
done
cat >"$HOME/.ssh/config" <<CONF
Host box inner
  Port $BOX_PORT
Host bastion
  Port $BASTION_PORT
Host inner
  ProxyJump bastion
Host gone
  Port 1
Host *
  HostName 127.0.0.1
  User $me
  IdentityFile $LAB/user
  IdentitiesOnly yes
  UserKnownHostsFile $HOME/.ssh/known_hosts
CONF
# ssh reads the home of the password file, which is not this test's.
mkdir -p "$LAB/bin"
cat >"$LAB/bin/ssh" <<WRAPPER
#!/bin/sh
exec $(command -v ssh) -F $HOME/.ssh/config "\$@"
WRAPPER
chmod +x "$LAB/bin/ssh"
export PATH=$LAB/bin:$PATH
