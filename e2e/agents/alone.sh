# alone.sh CLI: runs one agent without any network, against the scripted model, with the
# server of $CONNECTION. Its answer is in $OUT/CLI.out, what the tools answered in
# $OUT/CLI.log. Runs inside a network namespace of its own.
set -euo pipefail
cli=$1
ip link set lo up
"$SEER" agent mock "$TOP/e2e/agents/script.yaml" --log "$OUT/$cli.log" >"$OUT/$cli.url" &
model=$!
trap 'kill $model' EXIT
until [ -s "$OUT/$cli.url" ]; do kill -0 $model || exit 1; sleep 0.05; done
url=$(cat "$OUT/$cli.url")
export HOME=$OUT/$cli.home PATH=$TOOLS/node_modules/.bin:$PATH
mkdir -p "$HOME" "$OUT/$cli.work"
cd "$OUT/$cli.work"
server='"command":"'$SEER'","args":["mcp","--connection","'$CONNECTION'","--wait","4s"]'

case $cli in
claude)
  echo '{"mcpServers":{"tools":{'"$server"'}}}' >mcp.json
  export ANTHROPIC_BASE_URL=$url ANTHROPIC_API_KEY=none CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1
  export ENABLE_TOOL_SEARCH=false MCP_CONNECTION_NONBLOCKING=0 IS_SANDBOX=1
  export MCP_TIMEOUT=600000 MCP_CONNECT_TIMEOUT_MS=600000 # its own limits are 30 and 5 s
  run=(claude -p go --mcp-config mcp.json --strict-mcp-config --dangerously-skip-permissions --output-format text)
  ;;
codex)
  mkdir -p "$HOME/.codex"
  cat >"$HOME/.codex/config.toml" <<T
model = "scripted"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "$url/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
[mcp_servers.tools]
command = "$SEER"
args = ["mcp", "--connection", "$CONNECTION", "--wait", "4s"]
default_tools_approval_mode = "approve"
required = true # else it begins after a second without the tools
startup_timeout_sec = 600
tool_timeout_sec = 600
T
  export SCRIPTED_KEY=none
  run=(codex exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox go)
  ;;
gemini)
  mkdir -p "$HOME/.gemini"
  echo '{"mcpServers":{"tools":{'"$server"',"trust":true}},"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},"general":{"disableAutoUpdate":true}}' \
    >"$HOME/.gemini/settings.json"
  export GEMINI_API_KEY=none GOOGLE_GEMINI_BASE_URL=$url GEMINI_CLI_TRUST_WORKSPACE=true
  run=(gemini -p go --yolo -m gemini-2.5-flash)
  ;;
opencode)
  cat >opencode.json <<J
{"model":"scripted/m","small_model":"scripted/m","autoupdate":false,"share":"disabled","permission":"allow",
 "provider":{"scripted":{"npm":"@ai-sdk/openai-compatible","name":"scripted","options":{"baseURL":"$url/v1","apiKey":"none"},"models":{"m":{"name":"m"}}}},
 "mcp":{"tools":{"type":"local","enabled":true,"timeout":600000,"command":["$SEER","mcp","--connection","$CONNECTION","--wait","4s"]}}}
J
  export OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_DISABLE_LSP_DOWNLOAD=1
  run=(opencode run go)
  ;;
esac
timeout "${AGENT_TIMEOUT:-1500}" "${run[@]}" </dev/null >"$OUT/$cli.out" 2>"$OUT/$cli.err"
