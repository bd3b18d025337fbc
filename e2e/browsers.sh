# JupyterLab and VS Code of sandboxes in a real browser: the notebook that an agent works in
# is open while cells run and a person types, VS Code asks for its password and shows the
# workspace; at the ports of a sandbox that shares this computer's network, of one that has
# none, and through seer forward. What VS Code needs is installed by seer doctor --fix.
code_server_version=$(sed -n 's/^const Version = "\(.*\)"$/\1/p' "$TOP/engine/codeserver/install.go") playwright_version=1.65.1
home=$(eval echo "~$(id -un)") # for the caches of the package tools
jupyter=$TOP/.tools/jupyterlab-4.6.6/bin/python
export PLAYWRIGHT=$TOP/.tools/playwright-core-$playwright_version CHROMIUM
CHROMIUM=$(command -v chromium || command -v google-chrome || true)
[ -n "$CHROMIUM" ] && [ -x "$jupyter" ] && [ -d "$PLAYWRIGHT" ] || HOME=$home "$TOP/scripts/setup" e2e
CHROMIUM=$(command -v chromium || command -v google-chrome)
export SEER_PYTHON=$jupyter # it has all that Jupyter needs: no layer has to be built
forward=
cleanup() {
  [ -z "$forward" ] || { kill "$forward" && wait "$forward"; } || true
  "$SEER" down --all >/dev/null || true
}
trap cleanup EXIT

# doctor --fix: code-server, once for all runs, and nothing where all is there.
# bubblewrap is hidden from the last one, whose apt-get makes it appear.
export XDG_DATA_HOME=$TOP/.tools/data-code-server-$code_server_version
export npm_config_cache=$home/.npm
[ ! -e "$home/.npmrc" ] || export npm_config_userconfig=$home/.npmrc
"$TOP/e2e/browsers/code-server"
"$SEER" doctor --fix --json >doctor.json 2>doctor.err
[ ! -s doctor.err ]
grep -q '"name": *"code-server", *"ok": *true' <(tr -d '\n' <doctor.json)
mkdir bin && printf '#!/bin/sh\n[ "$1" = update ] || umount /usr/bin/bwrap\n' >bin/apt-get && chmod +x bin/apt-get
unshare --map-root-user --mount sh -c 'mount --bind /dev/null /usr/bin/bwrap && PATH=$PWD/bin:$PATH exec "$SEER" doctor --fix' >bwrap.out 2>bwrap.err
grep -q 'isolation bubblewrap .*installed just now' bwrap.out
grep -q 'bin/apt-get install .*bubblewrap' bwrap.err

mkdir 'files é' && echo '# seen by a person' >'files é/hello é.md'
experiment() { # experiment NAME NETWORK ISOLATION
  cat >"$1.yaml" <<Y
name: $1
sandbox: {execution_mode: notebook, debug: true, network: $2, isolation: $3, timeout: 30m}
workspace: {files: ["files é/hello é.md"]}
Y
  "$SEER" up --yes "$1.yaml" --name "$1" >"$1.out" 2>&1 || { cat "$1.out" >&2 && exit 1; }
}
code() { # code NAME [URL]
  "$SEER" open "$1" code --print --json >code.json
  local url password
  url=${2:-$("$jupyter" -c 'import json; print(json.load(open("code.json"))["url"])')}
  password=$("$jupyter" -c 'import json; print(json.load(open("code.json"))["password"])')
  node "$TOP/e2e/browsers/code.mjs" "$1" "$url" "$password" 'hello é.md'
}

experiment open-network open bubblewrap
node "$TOP/e2e/browsers/jupyter.mjs" open-network "$("$SEER" open open-network jupyter --print)"
node "$TOP/e2e/browsers/origins.mjs" open-network "$("$SEER" open open-network jupyter --print)"
code open-network
"$SEER" down open-network

experiment no-network none bubblewrap
node "$TOP/e2e/browsers/jupyter.mjs" no-network "$("$SEER" open no-network jupyter --print)"
# Through the runtime, which needs no port of the provider.
"$SEER" forward no-network 8888:0 8443:0 >forward.out 2>forward.err &
forward=$!
until [ "$(grep -c '^http' forward.out)" = 2 ]; do kill -0 "$forward" || exit 1; sleep 0.1; done
below() { "$SEER" open no-network "$1" --print | sed -n 's,^http://[^/]*,,p'; } # the path, which is the same
node "$TOP/e2e/browsers/jupyter.mjs" no-network "$(sed -n 's/ → port 8888 .*//p' forward.out)$(below jupyter)"
code no-network "$(sed -n 's/ → port 8443 .*//p' forward.out)$(below code)"
kill "$forward" && wait "$forward" || true
forward=
"$SEER" down no-network

# As most users have it: a Python without Jupyter, which comes as layers with an extension.
(
  unset SEER_PYTHON
  cat >layered.yaml <<'Y'
name: layered
sandbox: {execution_mode: notebook, network: none, isolation: bubblewrap, timeout: 30m, python_packages: [ipywidgets]}
Y
  "$SEER" up --yes layered.yaml --name layered >layered.out 2>&1 || { cat layered.out >&2 && exit 1; }
  url=$("$SEER" open layered jupyter --print)
  node "$TOP/e2e/browsers/jupyter.mjs" layered "$url"
  base=${url%%\?*} cookies=$PWD/cookies
  curl -fsSL -c "$cookies" "$url" >first.html
  curl -fsSL -b "$cookies" "${base%lab*}lab" >lab.html
  python3 - lab.html >extensions <<'P'
import json, re, sys
page = open(sys.argv[1], encoding="utf-8").read()
config = json.loads(re.search(r'<script id="jupyter-config-data"[^>]*>(.*?)</script>', page, re.S).group(1))
for e in config["federated_extensions"]:
    print("lab/extensions/%s/%s" % (e["name"], e["load"]))
P
  grep -q jupyter-widgets extensions
  while read -r file; do curl -fsS -b "$cookies" -o extension.js "${base%lab*}$file"; done <extensions
  "$SEER" down layered
)

experiment own-kernel none gvisor
node "$TOP/e2e/browsers/jupyter.mjs" own-kernel "$("$SEER" open own-kernel jupyter --print)"
code own-kernel
"$SEER" down own-kernel
[ "$("$SEER" ls --json)" = "[]" ]
