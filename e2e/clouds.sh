# scripts/check-cloud, which is for a real account, on both fakes: RunPod's with a
# proxy that cuts every request after three seconds. Before that, the example's results
# are those of a local run. Before all, the plugins pass their own kit.
real=$(eval echo "~$(id -un)") # for the caches of the package tools
GOCACHE=$(HOME=$real go env GOCACHE) GOMODCACHE=$(HOME=$real go env GOMODCACHE)
export GOCACHE GOMODCACHE
for cloud in modal runpod; do
  HOME=$real "$SEER" plugin test "$TOP/plugins/provider-$cloud" --quick --report "$cloud.json" >"$cloud.report" || { cat "$cloud.report" && exit 1; }
done
go build -C "$TOP" -o "$PWD/fakecloud" ./internal/fakecloud
export SEER_PYTHON SEER_CHECK_SECONDS=8
SEER_PYTHON=$("$TOP/scripts/python")
cp -r "$TOP/examples/induction-heads" demo
"$SEER" run --yes demo/seer.yaml -q >local.txt
cp demo/runs/latest/outputs/report.md local.md
for cloud in modal runpod; do
  ./fakecloud "$cloud" -cut 3s >"$cloud.env" 2>"$cloud.left" &
  pid=$!
  trap 'kill $pid 2>/dev/null || true' EXIT
  until grep -q '^export' "$cloud.env"; do
    kill -0 "$pid"
    sleep 0.1
  done
  # shellcheck disable=SC1090
  (
    . "./$cloud.env"
    "$SEER" run --yes demo/seer.yaml -q --set "sandbox.provider=$cloud" >"$cloud.txt"
    cmp demo/runs/latest/outputs/report.md local.md # the local run's results
    cmp "$cloud.txt" local.txt
    # Another sandbox of the user's is neither counted nor ended. The fakes have no GPU.
    printf 'name: other\nsandbox: {timeout: 30m}\n' >other.yaml
    "$SEER" up other.yaml --name other -q >/dev/null
    SEER_CHECK_GPU=true "$TOP/scripts/check-cloud" "$cloud" </dev/null | tee check.txt
    grep -q '^| dead-man.* | ok |' check.txt
    grep -q '^| nothing is left | ok |' check.txt
    "$SEER" down other -q
  )
  kill "$pid"
  wait "$pid" || { cat "$cloud.left"; exit 1; } # it counts what was left running
  trap - EXIT
done
