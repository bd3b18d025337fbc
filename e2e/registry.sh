# Two who do not trust each other: the author signs and publishes a plugin in a real OCI
# registry; a user installs it knowing what it may do, notes it in seer.lock, and needs no
# network the second time. A third has only the lock. Then everything goes wrong.
real=$(getent passwd "$(id -u)" | cut -d: -f6) # whose Go caches there are
GOMODCACHE=$(HOME=$real go env GOMODCACHE) GOCACHE=$(HOME=$real go env GOCACHE)
export GOMODCACHE GOCACHE OTEL_TRACES_EXPORTER=none
unset SSH_AUTH_SOCK
work=$PWD
port=$(python3 "$TOP/e2e/freeport.py") # given up and taken again
cat >config.yml <<Y
version: 0.1
log: {level: info}
storage: {filesystem: {rootdirectory: $work/data}}
http: {addr: '127.0.0.1:$port'}
Y
host=127.0.0.1:$port
start() { # start the registry server
  : >registry.log # of this start
  "$TOP"/.tools/registry-v* serve config.yml >/dev/null 2>>registry.log &
  registry=$!
  trap 'kill $registry 2>/dev/null || true' EXIT
  until grep -q "listening on $host" registry.log; do
    kill -0 $registry || { cat registry.log; exit 1; }
    sleep 0.1
  done
}
stop() { kill "$registry" && wait "$registry" || true; }
as() { # as WHO COMMAND…: with a home and a folder of its own
  mkdir -p "$work/$1/home"
  (cd "$work/$1" && HOME=$work/$1/home "${@:2}")
}
refused() { # refused EXITCODE TEXT COMMAND…
  local rc=0 code=$1 text=$2
  shift 2
  "$@" >out.txt 2>&1 || rc=$?
  grep -qF -- "$text" out.txt && [ $rc = "$code" ] || { echo "exit $rc instead of $code, or without '$text':"; cat out.txt; return 1; }
}
start
ref=$host/acme/provider-tiny

# The author.
ssh-keygen -q -t ed25519 -N '' -f "$work/key"
ssh-keygen -q -t ed25519 -N '' -f "$work/other"
as author "$SEER" plugin new provider tiny
wasm=provider-tiny/dist/provider-tiny.wasm
as author "$SEER" plugin build provider-tiny
as author "$SEER" plugin push $wasm "$ref:0.1.0" --plain-http --key "$work/key" | grep "^$ref@sha256:"
refused 12 "is there already" as author "$SEER" plugin push $wasm "$ref:0.1.0" --plain-http
# ssh-keygen needs no Seer to check it.
as author "$SEER" plugin verify --statement $wasm >statement
echo "author $(cat key.pub)" >allowed
ssh-keygen -Y verify -f allowed -I author -n seer-plugin@seer -s author/$wasm.sig <statement

# The user says yes to what is shown, and to nothing else.
refused 3 "--plain-http" as user "$SEER" plugin install "$ref:0.1.0"
refused 4 "there are 0.1.0" as user "$SEER" plugin install "$ref:0.2.0" --plain-http
refused 5 "--grant sha256:" as user "$SEER" plugin install "$ref:0.1.0" --plain-http --lock .
hash=$(grep -o 'sha256:[0-9a-f]*' out.txt | tail -n 1)
grep -F "signed by    $(ssh-keygen -lf key.pub | cut -d' ' -f2)" out.txt
refused 5 "sha256:" as user "$SEER" plugin install "$ref:0.1.0" --plain-http --lock . --grant "sha256:$(printf '0%.0s' $(seq 64))"
as user "$SEER" plugin install "$ref:0.1.0" --plain-http --lock . --grant "$hash"
grep "reference: $ref:0.1.0" user/seer.lock

# Without the registry: what is locked and here needs none.
stop
as user "$SEER" plugin install
as user "$SEER" plugin ls | grep provider-tiny

# A third has the lock, and is asked like anybody.
start
mkdir -p third && cp user/seer.lock third/
refused 5 "--grant $hash" as third "$SEER" plugin install --plain-http
as third "$SEER" plugin install --plain-http --grant "$hash"

# Somebody else publishes the next version.
sed -i 's/^version: 0.1.0/version: 0.1.1/' author/provider-tiny/plugin.yaml
as author "$SEER" plugin build provider-tiny
as author "$SEER" plugin push $wasm "$ref:0.1.1" --plain-http --key "$work/other"
refused 5 "repin" as user "$SEER" plugin install "$ref:0.1.1" --plain-http --lock .
grep "version: 0.1.0" user/seer.lock
as user "$SEER" plugin repin provider-tiny
as user "$SEER" plugin install "$ref:0.1.1" --plain-http --lock . --grant "$hash" # for it is another's, though it asks for nothing new
grep "version: 0.1.1" user/seer.lock

# Whoever has the registry changes some bytes of the module.
blob=$(find data -path '*/blobs/*' -name data -size +100k -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d' ' -f2)
printf 'somebody else was here' | dd of="$blob" bs=1 seek=5000 conv=notrunc status=none
refused 3 "is something else" as fourth "$SEER" plugin install "$ref:0.1.1" --plain-http --grant "$hash"
test -n "$(find user/home -name '*.wasm')"
test -z "$(find fourth/home -name '*.wasm')"
stop
