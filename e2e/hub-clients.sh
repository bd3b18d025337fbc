# The fake Hub, seen by the official clients: in Python with hf-xet and without that package, and in
# JavaScript. They download whole repositories; the bytes, the layout of the cache and the
# errors have to be right, and no user's token may reach another host than the API.
tools=$("$TOP/e2e/hub-clients/install.sh")

. "$TOP/e2e/fakes/start.sh"
start_fake hub-clients "$E2E_WORK/expected"
export HF_HUB_DISABLE_PROGRESS_BARS=1

"$tools/python/bin/python" -B "$TOP/e2e/hub-clients/client.py" expected cache-xet 9>&-
HF_HUB_DISABLE_XET=1 "$tools/python-plain/bin/python" -B "$TOP/e2e/hub-clients/client.py" expected cache-http 9>&-
snapshot=$(HUB_JS=$tools node "$TOP/e2e/hub-clients/client.mjs" cache-js 2>&1 9>&- | tail -n 1)
diff -r expected/org--model "$snapshot"
[ "$(cat cache-js/models--org--model/refs/main)" = "$HUB_COMMIT" ]

# Seer shares a cache with the official client: it takes what the client has downloaded, some of
# it in the store that repositories share, and the client takes what Seer has.
fetched() { # CACHE MODEL: brings a model as a start does
  printf 'name: cache\nsandbox:\n  models: [%s]\n' "$2" >cache.yaml
  HF_HUB_CACHE=$PWD/$1 "$SEER" up --yes --name cache cache.yaml 9>&- >up.log 2>&1 || { cat up.log; return 1; }
  "$SEER" down cache 9>&- >/dev/null 2>&1
}
inodes() { find -L "$1"/models--org--model/blobs -type f -printf '%f %i\n' | sort; }
bytes() { # of files that the fake has sent so far
  rm -f sent && echo sent >&9
  until [ -e sent ]; do sleep 0.05; done
  cat sent
}
inodes cache-xet >before
fetched cache-xet org/model
inodes cache-xet | diff before -
for name in model.safetensors config.json; do
  [ "$HOME/.cache/seer/models/hub/org%2Fmodel/$HUB_COMMIT/$name" -ef "cache-xet/models--org--model/snapshots/$HUB_COMMIT/$name" ]
done
rm -r "$HOME/.cache/seer/models"
fetched cache-seer org/model
fetched cache-seer '{name: org/model, revision: v1}'
cp -r cache-seer cache-seer-plain
"$tools/python/bin/python" -B "$TOP/e2e/hub-clients/seer.py" expected cache-seer cache-http 9>&-
"$tools/python-plain/bin/python" -B "$TOP/e2e/hub-clients/seer.py" expected cache-seer-plain cache-http 9>&-

# The same with what the client without hf-xet has downloaded, and with the JavaScript client's.
# Seer transfers nothing that they have, and they nothing that Seer has.
for cache in cache-http cache-js; do
  rm -r "$HOME/.cache/seer/models"
  inodes "$cache" >before
  bytes >at
  fetched "$cache" org/model
  diff at <(bytes)
  inodes "$cache" | diff before -
done
rm -r "$HOME/.cache/seer/models"
fetched cache-fresh org/model
bytes >at
HUB_JS=$tools node "$TOP/e2e/hub-clients/shared.mjs" cache-fresh expected/org--model 9>&-
diff at <(bytes)
exec 9>&-
wait "$fake"
