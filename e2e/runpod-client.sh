# The fake RunPod, seen by RunPod's official MCP server: catalogue, the life of
# a pod, volumes, what fails, and bodies made from the schemas that the server publishes.
version=4.0.0
home=$(eval echo "~$(id -un)") # for the caches of the package tools
tools=$TOP/.tools/runpod-mcp-$version
if [ ! -d "$tools" ]; then
  rm -rf "$tools.part" && mkdir -p "$tools.part"
  HOME=$home npm install --silent --no-audit --no-fund --prefix "$tools.part" "@runpod/mcp-server@$version"
  mv "$tools.part" "$tools"
fi

. "$TOP/e2e/fakes/start.sh"
start_fake runpod-client "$E2E_WORK/cloud"
# What is not of REST v2 must not be asked of the real one.
export RUNPOD_PUBLIC_GRAPHQL_URL=$RUNPOD_API_BASE_URL/graphql RUNPOD_AUTHED_GRAPHQL_URL=$RUNPOD_API_BASE_URL/graphql
export RUNPOD_SERVERLESS_API_URL=$RUNPOD_API_BASE_URL/serverless

client() { python3 -B "$TOP/e2e/runpod-client/client.py" "$tools/node_modules/@runpod/mcp-server/dist/stdio.mjs"; }
client
if RUNPOD_API_KEY=wrong client 2>refused; then
  exit 1
fi
grep -q 401 refused
exec 9>&-
wait "$fake"
