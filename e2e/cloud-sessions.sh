# Whole sandboxes on both fake clouds: notebook and shell, packages, a private
# repository, models, VS Code, the ways to their ports, and snapshots that go from one
# provider to another. RunPod's proxy cuts every request after five seconds. Needs the network for pip.
real=$(eval echo "~$(id -un)") # for the caches of the package tools
HOME=$real go build -C "$TOP" -o "$PWD/fakecloud" ./internal/fakecloud
python=$(ls -d "$TOP"/.tools/jupyterlab-*/bin/python | tail -n 1)
export SEER_PYTHON=$python GIT_TOKEN=token-of-the-private-repository
pids=() code_server=
trap '"$SEER" down --all >/dev/null 2>&1 || true; kill "${pids[@]}" $code_server 2>/dev/null || true' EXIT

# VS Code, which e2e/browsers uses, too: an image that has it, and one that fetches it.
version=$(sed -n 's/^const Version = "\(.*\)"$/\1/p' "$TOP/engine/codeserver/install.go")
data=$TOP/.tools/data-code-server-$version
(
  export XDG_DATA_HOME=$data npm_config_cache=$real/.npm
  [ ! -e "$real/.npmrc" ] || export npm_config_userconfig=$real/.npmrc
  [ -d "$data/seer/tools/code-server" ] || "$TOP/e2e/browsers/code-server"
) >code-server.log 2>&1 &
code_server=$!
modules=$data/seer/tools/code-server/node_modules
name=code-server-$version-linux-$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')
mkdir -p on-runpod on-modal "$name/bin" "$name/lib"
printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$modules/node/bin/node" "$modules/code-server/out/node/entry.js" >"$name/bin/code-server"
chmod +x "$name/bin/code-server"
cp "$name/bin/code-server" on-runpod/
tar -czf release.tar.gz "$name"
cat >on-modal/curl <<S
#!/bin/sh
[ "\$1" = -fsSL ] || exit 2
while [ \$# -gt 1 ]; do
  [ "\$1" != -o ] || to=\$2
  shift
done
[ "\$1" = "https://github.com/coder/code-server/releases/download/v$version/$name.tar.gz" ] || { echo "curl: no page at \$1" >&2; exit 22; }
exec cp "$PWD/release.tar.gz" "\$to"
S
chmod +x on-modal/curl

mkdir repo && git -C repo init -q -b main
mkdir repo/probes && echo 'def answer(): return 42' >repo/probes/__init__.py
cat >repo/pyproject.toml <<'T'
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "probes"
version = "1"
[tool.setuptools]
packages = ["probes"]
T
git -C repo add . && git -C repo -c user.name=a -c user.email=b commit -qm one
mkdir served && git clone -q --bare repo served/probes.git
"$python" "$TOP/e2e/cloud-sessions/git_server.py" served "$GIT_TOKEN" >git.port 2>git.log &
pids+=($!)
until [ -s git.port ]; do kill -0 "${pids[0]}" || exit 1; sleep 0.05; done

for cloud in modal runpod; do
  install=()
  [ "$cloud" = runpod ] || install=(-install)
  PATH=$PWD/on-$cloud:$PATH ./fakecloud "$cloud" -cut 5s -fast "${install[@]}" >"$cloud.env" 2>"$cloud.left" &
  pids+=($!)
  until grep -qs '^export' "$cloud.env"; do kill -0 "${pids[-1]}" || exit 1; sleep 0.05; done
  # shellcheck disable=SC1090
  . "./$cloud.env"
done
for part in notebook shell; do
  [ $part = notebook ] || wait $code_server || { cat code-server.log >&2 && exit 1; }
  for cloud in modal runpod; do
    mkdir -p "on $cloud"
    (cd "on $cloud" && PYTHONPATH=$TOP/e2e "$python" -u "$TOP/e2e/cloud-sessions/check.py" "$cloud" "$(cat ../git.port)" $part)
  done
done
# From one provider to the other, and both to and from this computer.
mkdir across
(cd across && PYTHONPATH=$TOP/e2e "$python" -u "$TOP/e2e/cloud-sessions/across.py")
[ "$("$SEER" ls --refresh --json)" = '[]' ]
for n in 1 2; do
  kill "${pids[$n]}"
  wait "${pids[$n]}" || { cat ./*.left; exit 1; } # it counts what was left running
done
