# AssemblyScript: its SDK against JavaScript itself, the example built anew to the same bytes,
# and that example with OpenAI's own packages: its tools are what their types and their strict
# mode want, and their client's loop calls functions in a sandbox.
npm=7.57.0 pypi=3.54.0
SEER_PYTHON=$("$TOP/scripts/python")
home=$(eval echo "~$(id -un)") # for the caches of the package tools
export npm_config_cache=$TOP/bin/cache/npm
tools=$TOP/.tools/openai-$npm
if [ ! -d "$tools" ]; then
  rm -rf "$tools.part" && mkdir -p "$tools.part"
  npm install --silent --no-audit --no-fund --prefix "$tools.part" "openai@$npm" typescript@5.9.3
  "$SEER_PYTHON" -m venv "$tools.part/python"
  HOME=$home "$tools.part/python/bin/python3" -m pip install -q "openai==$pypi"
  mv "$tools.part" "$tools"
fi

# Not in the repository itself: a build leaves files.
mkdir -p src/sdk src/examples/plugins
cp -r "$TOP/sdk/assemblyscript" src/sdk/
cp -r "$TOP/examples/plugins/expose-openai" src/examples/plugins/
example=src/examples/plugins/expose-openai
rm -rf $example/node_modules $example/build $example/dist
"$SEER" plugin build $example >/dev/null 2>build.txt || { cat build.txt >&2; exit 1; }
if ! cmp $example/dist/expose-openai.wasm $example/testdata/expose-openai.wasm; then
  echo "the example's sources have changed: seer plugin build examples/plugins/expose-openai --out examples/plugins/expose-openai/testdata" >&2
  exit 1
fi
cp -r $example/node_modules src/sdk/assemblyscript/
(cd src/sdk/assemblyscript && node node_modules/assemblyscript/bin/asc.js test/guest.ts --outFile guest.wasm && node test/run.mjs guest.wasm)

"$SEER" init exp >/dev/null
"$SEER" up --yes exp/seer.yaml --name lab --quiet
trap '"$SEER" down --all >/dev/null' EXIT
cat >chat.ts <<'T'
import type OpenAI from "openai";
T
printf 'export const chat: OpenAI.Chat.Completions.ChatCompletionTool[] = ' >>chat.ts
cat $example/testdata/chat.json.golden >>chat.ts
printf ';\nexport const responses: OpenAI.Responses.FunctionTool[] = ' >>chat.ts
cat $example/testdata/responses.json.golden >>chat.ts
ln -s "$tools/node_modules" node_modules
node_modules/.bin/tsc --noEmit --strict --skipLibCheck --module nodenext --target es2022 chat.ts

"$SEER" serve lab $example/testdata/interface.py --as openai --name tools --out . --plugin-dir $example/dist >/dev/null
cmp tools/tools.json $example/testdata/chat.json.golden
PYTHONPATH=. PYTHONDONTWRITEBYTECODE=1 "$tools/python/bin/python3" "$TOP/e2e/assemblyscript/openai_loop.py"
