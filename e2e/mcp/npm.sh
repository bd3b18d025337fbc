# npm.sh NAME: what the scripts of e2e take from npm, each in a folder of its own in .tools,
# installed once; its output is the folder. usage: bash npm.sh agents|conformance|inspector|playwright|pyright|sdk
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
node=node@24 # newer than that of most systems
claude=2.1.330 codex=0.169.0 gemini=0.61.0 opencode=1.18.33
conformance=0.1.16 inspector=2.12.0 playwright=1.65.1 pyright=1.1.414 sdk=1.32.2
case $1 in
agents)
  name=agents-$claude-$codex-$gemini-$opencode
  packages=("$node" "@anthropic-ai/claude-code@$claude" "@openai/codex@$codex" "@google/gemini-cli@$gemini" "opencode-ai@$opencode")
  ;;
conformance) name=mcp-conformance-$conformance packages=("$node" "@modelcontextprotocol/conformance@$conformance") ;;
inspector) name=mcp-inspector-$inspector packages=("$node" "@modelcontextprotocol/inspector@$inspector") ;;
playwright) name=playwright-core-$playwright packages=("playwright-core@$playwright") ;; # it drives the browser of e2e/browsers.sh
pyright) name=pyright-$pyright packages=("pyright@$pyright") ;;
sdk) name=mcp-sdk-$sdk packages=("@modelcontextprotocol/sdk@$sdk") ;;
*) exit 2 ;;
esac
tools=$top/.tools/$name
mkdir -p "$top/.tools"
exec 9>"$top/.tools/npm.lock"
if command -v flock >/dev/null; then flock 9; fi # scripts that run at the same time want the same
if [ ! -d "$tools" ]; then
  echo "setup: installing $name into .tools" >&2
  HOME=$(eval echo "~$(id -un)") # not a test's: ~/.npmrc, and what npm has fetched before
  for try in 1 2 3; do # beyond npm's own tries: what a package fetches while it is installed
    rm -rf "$tools.part" && mkdir "$tools.part"
    if npm install --loglevel=error --no-audit --no-fund --prefix "$tools.part" "${packages[@]}" >&2 9>&-; then
      mv "$tools.part" "$tools" && break
    fi
    [ $try = 3 ] || sleep $((try * 20))
  done
  [ -d "$tools" ]
fi
echo "$tools"
