# The official TypeScript client against seer mcp, over both transports.
SDK=$(bash "$TOP/e2e/mcp/npm.sh" sdk)
export SDK
"$SEER" init exp >/dev/null
"$SEER" up --yes exp/seer.yaml --name clients --quiet
cleanup() {
  kill "$server" && wait
  "$SEER" down --all >/dev/null || true
}
"$SEER" serve clients "$TOP/e2e/agents/tools.py" --as mcp --name tools --out .
"$SEER" mcp --connection tools.connection.json --http 127.0.0.1:0 --http-token-file token >address &
server=$!
trap cleanup EXIT
until [ -s address ]; do kill -0 "$server" || exit 1; sleep 0.05; done
node "$TOP/e2e/mcp/client.mjs" mcp.json "$(cat address)" token
