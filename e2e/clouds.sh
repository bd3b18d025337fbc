# scripts/check-cloud, which is for a real account, on both stand-ins: RunPod's with a
# proxy that cuts every request after three seconds.
go build -C "$TOP" -o "$PWD/standin" ./internal/standin
export SEER_PYTHON SEER_CHECK_SECONDS=8
SEER_PYTHON=$("$TOP/scripts/python")
for cloud in modal runpod; do
  ./standin "$cloud" -cut 3s >"$cloud.env" 2>"$cloud.left" &
  pid=$!
  trap 'kill $pid 2>/dev/null || true' EXIT
  until grep -q '^export' "$cloud.env"; do
    kill -0 "$pid"
    sleep 0.1
  done
  # shellcheck disable=SC1090
  (. "./$cloud.env" && "$TOP/scripts/check-cloud" "$cloud" </dev/null)
  kill "$pid"
  wait "$pid" || { cat "$cloud.left"; exit 1; } # it counts what was left running
  trap - EXIT
done
