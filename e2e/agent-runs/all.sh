# all.sh AGENT [slow]: the runs of one agent, or its slow one, in a network namespace of its own.
set -euo pipefail
agent=$1
ip link set lo up
export PATH=$TOOLS/node_modules/.bin:$PATH
export ANTHROPIC_API_KEY=real-key-of-the-user OPENAI_API_KEY=real-key-of-the-user GEMINI_API_KEY=real-key-of-the-user REMOTE_KEY=real-key-of-the-user
case $agent in claude) shell=Bash ;; gemini) shell=run_shell_command ;; opencode) shell=bash ;; codex) shell= ;; esac # codex takes no list of tools

experiment() { # experiment KIND URL REST
  local limits=
  case $1 in
  mcp) limits=", mcp_servers: {remote: {url: \"$(cat "$agent.remote")\", headers: {Authorization: \"Bearer \${REMOTE_KEY}\"}}}" ;;
  library) limits=${shell:+, tools: [$shell]} ;;
  slow)
    limits=", max_turns: 2, mcp_servers: {slow: {command: python3, args: [$TOP/e2e/agent-runs/slow.py]}"
    if [ "$agent" != codex ]; then limits+=", docs: {command: /bin/false}"; fi # codex does not begin without it
    limits+="}"
    ;;
  esac
  cat <<Y
name: $agent-$1
sandbox: {network: none, timeout: 40m$3}
agent: {provider: $agent, model: scripted, base_url: "$2", budget: 5, timeout: 20m, prompt: Go.$limits}
Y
}
# one KIND SCRIPT REST: a run, and what it has left.
one() {
  local kind=$1 status=0
  "$SEER" agent mock "$2" --log "$agent-$kind.jsonl" >"$agent-$kind.url" &
  local model=$!
  until [ -s "$agent-$kind.url" ]; do kill -0 $model || exit 1; sleep 0.05; done
  mkdir -p "$agent-$kind" && cp "$TOP"/e2e/agents/tools.py "$TOP"/e2e/agent-runs/{helper,kill}.py "$agent-$kind" && echo a,b >"$agent-$kind/data.csv"
  cp -r "$TOP/examples/agents/mcp/tiny-lm" "$agent-$kind"
  case $kind in
  library) cp "$TOP"/e2e/agent-runs/interface.py "$guide"/{agent,helpers}.py "$agent-$kind" ;;
  activations) cp "$TOP/examples/agents/mcp/interface.py" "$agent-$kind" ;;
  esac
  { experiment "$kind" "$(cat "$agent-$kind.url")" "$3" && cat; } >"$agent-$kind/seer.yaml"
  "$SEER" run --yes "$agent-$kind/seer.yaml" >"$agent-$kind.out" 2>"$agent-$kind.err" </dev/null &
  local run=$!
  case $kind in
  interrupted | killed)
    until grep -q '"request"' "$agent-$kind.jsonl" 2>/dev/null; do kill -0 $run || break; sleep 0.1; done
    if [ "$kind" = killed ]; then kill -KILL $run; else kill -INT $run; fi
    ;;
  esac
  wait $run || status=$?
  kill $model
  case $kind in interrupted) wanted=130 ;; killed) wanted=137 ;; crash | slow) wanted=11 ;; *) wanted=0 ;; esac
  if [ $status -ne $wanted ]; then
    tail -n 30 "$agent-$kind.out" "$agent-$kind.err" >&2
    echo "$agent, $kind: exit code $status, and not $wanted" >&2
    exit 1
  fi
  "$SEER" runs show "$agent-$kind/runs/latest" --json >"$agent-$kind.json"
  "$SEER" runs export "$agent-$kind/runs/latest" --html -o "$agent-$kind.html"
  "$SEER" runs export "$agent-$kind/runs/latest" --inspect -o "logs/$agent-$kind.eval"
  "$INSPECT" -B "$TOP/e2e/agent-runs/check.py" "$agent" "$kind" "$agent-$kind.json" "logs/$agent-$kind.eval" "$agent-$kind.html" "$agent-$kind.jsonl"
}
scripts=$TOP/e2e/agent-runs guide=$TOP/examples/scoped-sandbox/testdata/as-documented
if [ "${2:-}" = slow ]; then
  one slow "$scripts/slow.yaml" "" </dev/null
  exit
fi
python3 -B "$scripts/remote.py" >"$agent.remote" &
trap 'kill $remote' EXIT
remote=$!
until [ -s "$agent.remote" ]; do kill -0 $remote || exit 1; sleep 0.05; done
# The guide to scoped sandboxes and the one to interfaces.
one library "$scripts/library.yaml" ", models: [./tiny-lm]" <<Y
serve: [{file: interface.py, expose_as: library, name: model_tools}]
workspace: {libraries: [helpers.py], files: [agent.py]}
Y
one activations "$TOP/examples/agents/mcp/script.yaml" ", models: [./tiny-lm]" <<Y
serve: [{file: interface.py, expose_as: mcp, name: model_tools}]
Y
one mcp "$TOP/e2e/agents/script.yaml" "" <<Y
serve: [{file: tools.py, expose_as: mcp, options: {wait: 20s}}]
Y
SEER_PYTHON=$JUPYTER one notebook "$TOP/e2e/session-agents/notebook.yaml" ", execution_mode: notebook" <<Y
workspace: {libraries: [helper.py], files: [data.csv]}
Y
one interrupted "$scripts/hang.yaml" "" <<Y
serve: [{file: tools.py}]
Y
one killed "$scripts/hang.yaml" "" <<Y
serve: [{file: tools.py}]
Y
"$SEER" down -q "$(grep -o '"sandbox": *"[^"]*"' "$agent-killed.json" | head -n 1 | cut -d '"' -f 4)" # or its lease would end it
one crash "$scripts/crash.yaml" "" <<Y
serve: [{file: tools.py}]
workspace: {files: [kill.py]}
Y
