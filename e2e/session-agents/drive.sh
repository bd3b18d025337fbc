# drive.sh AGENT TASK: what agent.command runs, in the agent's own isolation, which has no
# network: the scripted model at its loopback, then the agent with what Seer has left it.
set -euo pipefail
agent=$1 task=$2
export PATH=$PWD/.tools/node_modules/.bin:$PATH
seer=$(python3 -c 'import json, sys; print(next(iter(json.load(open(sys.argv[1]))["mcpServers"].values()))["command"])' "$SEER_MCP_CONFIG")
"$seer" agent mock ".script/$task.yaml" --log "$SEER_OUTPUTS/told.jsonl" >"$HOME/url" &
model=$!
trap 'kill $model' EXIT
until [ -s "$HOME/url" ]; do kill -0 $model || exit 1; sleep 0.05; done
url=$(cat "$HOME/url")
python3 .script/configure.py "$agent" "$SEER_MCP_CONFIG" "$url"
prompt=$(cat "$SEER_PROMPT")
case $agent in
claude)
  export ANTHROPIC_BASE_URL=$url ANTHROPIC_API_KEY=none CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1
  export ENABLE_TOOL_SEARCH=false MCP_CONNECTION_NONBLOCKING=0 IS_SANDBOX=1
  export MCP_TIMEOUT=600000 MCP_CONNECT_TIMEOUT_MS=600000 # its own limits are 30 and 5 s
  run=(claude -p "$prompt" --mcp-config "$SEER_MCP_CONFIG" --strict-mcp-config --dangerously-skip-permissions --output-format text)
  ;;
codex)
  export SCRIPTED_KEY=none
  run=(codex exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox "$prompt")
  ;;
gemini)
  export GEMINI_API_KEY=none GOOGLE_GEMINI_BASE_URL=$url GEMINI_CLI_TRUST_WORKSPACE=true
  run=(gemini -p "$prompt" --yolo -m gemini-2.5-flash)
  ;;
opencode)
  export OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_DISABLE_LSP_DOWNLOAD=1 OPENCODE_CONFIG=$HOME/opencode.json
  run=(opencode run "$prompt")
  ;;
esac
timeout "$AGENT_TIMEOUT" "${run[@]}" </dev/null
