# The plugins of examples/plugins as their readers use them: built, tried by the kit,
# granted; the main job on Pond, whose answers are lost now and then; a model from an
# index; a surface for OpenAI's functions.
examples=$TOP/examples/plugins
real=$(eval echo "~$(id -un)") # for the caches of the package tools
GOCACHE=$(HOME=$real go env GOCACHE) GOMODCACHE=$(HOME=$real go env GOMODCACHE)
SEER_PYTHON=$("$TOP/scripts/python")
export GOCACHE GOMODCACHE SEER_PYTHON

build() { # builds the plugin $1, tries it, and grants what is built in its folder
  HOME=$real "$SEER" plugin build "$examples/$1" --out "plugins/$1" >/dev/null
  if (cd "$examples/$1" && test -e conformance.yaml); then
    "$SEER" plugin test "$examples/$1" --quick --report "$1.report.json" >"$1.report" || { cat "$1.report" && exit 1; }
  fi
  hash=$("$SEER" plugin info "plugins/$1/$1.wasm" --json | python3 -c 'import json, sys; print(json.load(sys.stdin).get("permissions", ""))')
  [ -z "$hash" ] || "$SEER" plugin grant --folder "plugins/$1" --grant "$hash" -q
}

serving() { # waits until $1 has said what $2 is
  until grep -q "$2" "$1"; do kill -0 $! || exit 1; sleep 0.05; done
}

# The provider: nothing without a grant, then the main job, with the results of a local run.
export SEER_PLUGIN_DIR=$PWD/plugins/provider-pond:$PWD/plugins/fetch-index
mkdir -p plugins/provider-pond plugins/fetch-index
go build -C "$TOP" -o "$PWD/pond" ./examples/plugins/pond-simulator
./pond -queue 300ms -boot 200ms -faults lost:7,trouble:11 >env 2>left &
pond=$!
trap 'kill $pond 2>/dev/null || true' EXIT
serving env POND_KEY
# shellcheck disable=SC1091
. ./env
HOME=$real "$SEER" plugin build "$examples/provider-pond" --out plugins/provider-pond >/dev/null
if "$SEER" offers --provider pond --cpu 2>refused; then exit 1; fi
grep -q "nobody has granted" refused
build provider-pond
cp -r "$TOP/examples/induction-heads" demo
"$SEER" run --yes demo/seer.yaml -q >local.txt
cp demo/runs/latest/outputs/report.md local.md
"$SEER" run --yes demo/seer.yaml -q --set sandbox.provider=pond >pond.txt
cmp pond.txt local.txt
cmp demo/runs/latest/outputs/report.md local.md
bill=$(curl -fsS --retry 9 --retry-all-errors --retry-delay 1 -H "Authorization: Bearer $POND_KEY" "$POND_URL/v1/bill")
python3 - "$bill" <<'P'
import json, sys
bill = json.loads(sys.argv[1])
assert bill["billing"] == [] and bill["usd"] > 0, bill
P
"$SEER" plugin audit provider-pond | tee audit
grep -q 'http POST' audit
kill $pond
wait $pond || { cat left && exit 1; } # it says what was still billed
trap - EXIT

# The fetcher: a model from a folder that a plain web server shows, checked on arrival.
build fetch-index
mkdir -p www/team/tiny/r1/weights
printf '{"layers": 2}' >www/team/tiny/r1/config.json
head -c 300000 /dev/urandom >www/team/tiny/r1/weights/w.bin
python3 - <<'P'
import hashlib, json, pathlib
top = pathlib.Path("www/team/tiny")
files = [{"path": str(p.relative_to(top / "r1")), "size": p.stat().st_size, "sha256": hashlib.sha256(p.read_bytes()).hexdigest()}
         for p in top.glob("r1/**/*") if p.is_file()]
(top / "index.json").write_text(json.dumps({"default": "r1", "revisions": [{"name": "r1", "files": files}]}))
P
cat >tools.py <<'P'
import hashlib, pathlib

path = pathlib.Path(get_model_path("index:team/tiny"))

@expose
def digest() -> str:
    return hashlib.sha256((path / "weights/w.bin").read_bytes()).hexdigest()
P
cat >exp.yaml <<'Y'
sandbox: {models: ["index:team/tiny"]}
serve: [{file: tools.py}]
Y
python3 -u -m http.server --bind 127.0.0.1 --directory www 0 >www.log 2>&1 &
www=$!
trap 'kill $www; "$SEER" down --all >/dev/null' EXIT
serving www.log 'Serving HTTP'
MODEL_INDEX_URL=$(grep -o 'http://[0-9.:]*' www.log | head -n 1)
export MODEL_INDEX_URL
"$SEER" up --yes exp.yaml --name index -q
"$SEER" serve index tools.py --name tools --out out -q
[ "$("$SEER" call index tools.digest --json | python3 -c 'import json, sys; v = json.load(sys.stdin); print(v["result"] if isinstance(v, dict) else v)')" = "$(sha256sum <www/team/tiny/r1/weights/w.bin | cut -d' ' -f1)" ]
"$SEER" down index -q
printf '{"layers": 3}' >www/team/tiny/r1/config.json # the same size, other bytes
rm -rf "$HOME/.cache/seer/models"
if "$SEER" up --yes exp.yaml --name index -q 2>refused; then exit 1; fi
grep -qi "sha-\?256\|digest" refused
kill $www
trap '"$SEER" down --all >/dev/null' EXIT

# The expose mode in AssemblyScript, where Node is there to build it.
if command -v node >/dev/null && [ -d "$examples/expose-openai" ]; then
  mkdir -p plugins/expose-openai
  build expose-openai
  export SEER_PLUGIN_DIR=$PWD/plugins/expose-openai
  "$SEER" init exp >/dev/null
  "$SEER" up --yes exp/seer.yaml --name openai -q
  "$SEER" serve openai exp/interface.py --as openai --name tools --out openai -q
  python3 - <<'P'
import json
tools = json.load(open("openai/tools/tools.json"))
assert [t.get("function", t)["name"] for t in tools] == ["get_model_info", "next_words"], tools
P
  "$SEER" down openai -q
fi
