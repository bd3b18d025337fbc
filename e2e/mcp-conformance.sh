# The official conformance suite of MCP against seer mcp over HTTP. What does not apply
# is in e2e/mcp/not-applicable.yaml, with the reason; the suite fails when one of those passes.
tools=$(bash "$TOP/e2e/mcp/npm.sh" conformance)
export PATH=$tools/node_modules/.bin:$PATH

"$SEER" init exp >/dev/null
"$SEER" up --yes exp/seer.yaml --name conforming --quiet
cleanup() {
  kill "${pids[@]}" && wait
  "$SEER" down --all >/dev/null || true
}
pids=()
trap cleanup EXIT
"$SEER" serve conforming "$TOP/e2e/mcp/conformance.py" --as mcp --name tools --out .
"$SEER" mcp --connection tools.connection.json --http 127.0.0.1:0 --http-token-file token >address &
pids+=($!)
until [ -s address ]; do kill -0 "${pids[0]}" || exit 1; sleep 0.05; done
[ "$(curl -s -o /dev/null -w '%{http_code}' "$(cat address)")" = 401 ]
node "$TOP/e2e/mcp/authorize.mjs" "$(cat address)" token >port &
pids+=($!)
until [ -s port ]; do kill -0 "${pids[1]}" || exit 1; sleep 0.05; done
conformance server --url "http://127.0.0.1:$(cat port)/" --expected-failures "$TOP/e2e/mcp/not-applicable.yaml"
