# The official TypeScript client against seer mcp, over both transports.
version=1.32.2
home=$(eval echo "~$(id -un)") # for the cache of the package tool
export SDK=$TOP/.tools/mcp-sdk-$version
if [ ! -d "$SDK" ]; then
  rm -rf "$SDK.part" && mkdir -p "$SDK.part"
  HOME=$home npm install --silent --no-audit --no-fund --prefix "$SDK.part" "@modelcontextprotocol/sdk@$version"
  mv "$SDK.part" "$SDK"
fi
"$SEER" init exp >/dev/null
"$SEER" up exp/seer.yaml --name clients --quiet
cleanup() {
  kill "$server" && wait
  "$SEER" down --all >/dev/null
}
"$SEER" serve clients "$TOP/e2e/agents/tools.py" --as mcp --name tools --out .
"$SEER" mcp --connection tools.connection.json --http 127.0.0.1:0 --http-token-file token >address &
server=$!
trap cleanup EXIT
until [ -s address ]; do kill -0 "$server" && sleep 0.05; done
node "$TOP/e2e/mcp/client.mjs" mcp.json "$(cat address)" token
