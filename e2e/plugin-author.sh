# The way of a plugin's author who has only the binary, far from the repository: a new
# folder of each kind and language builds and passes its tests at once, those in Go
# without any network; and it is built at every save.
PATH="$(cd "$TOP" && go env GOROOT)/bin:$PATH" # a Go that is new enough
export GOCACHE=${GOCACHE:-$TOP/bin/cache/go-build} GOFLAGS=-trimpath npm_config_cache=$TOP/bin/cache/npm
export npm_config_prefer_offline=true npm_config_fetch_retries=5 # the first build fetches, the others have it
unset GOPROXY GOWORK SEER_SDK_DIR SEER_PLUGIN_DIR
mkdir "un dossier é" && cd "un dossier é"

passed() { # passed REPORT: nothing failed, and something was tried
  python3 - "$1" <<'P'
import json, sys
results = json.load(open(sys.argv[1]))["results"]
failed = [r for r in results if r["status"] == "failed"]
for r in failed:
    print(r["check"], r.get("detail", ""), file=sys.stderr)
good = sum(r["status"] == "passed" for r in results)
assert not failed and good >= 10, (len(failed), good)
print(f"  {good} checks passed, {len(results) - good} do not apply")
P
}

for lang in go assemblyscript; do
  for kind in provider fetcher expose; do
    id=${kind/fetcher/fetch}-my-$lang
    echo "$kind in $lang"
    "$SEER" plugin new "$kind" "my-$lang" --lang "$lang" >/dev/null
    (
      cd "$id"
      if [ "$lang" = go ]; then export GOPROXY=off; fi
      "$SEER" plugin build 2>build.txt || { cat build.txt >&2; exit 1; }
      grep 'Built' build.txt
      test -s "dist/$id.wasm"
      cmp plugin.yaml "dist/$id.yaml"
      if [ "$lang" = go ]; then
        test -z "$(gofmt -l .)"
        go vet ./...
        go test -short ./... | grep -v 'no test files'
      fi
      "$SEER" plugin test --quick --json >report.json || { cat report.json >&2; exit 1; }
      passed report.json
    )
  done
done

# The same sources give the same bytes, somewhere else and later.
before=$(sha256sum <expose-my-go/dist/expose-my-go.wasm)
cp -r expose-my-go elsewhere && rm -r elsewhere/dist
GOPROXY=off "$SEER" plugin build elsewhere >/dev/null 2>&1
test "$(sha256sum <elsewhere/dist/expose-my-go.wasm)" = "$before"

# What is there is not overwritten, and a mistake has a place.
if "$SEER" plugin new expose my-go 2>refused.txt; then exit 1; fi
grep 'is not empty' refused.txt
sed -i 's/^provides:/provide:/' elsewhere/plugin.yaml
if "$SEER" plugin build elsewhere 2>refused.txt; then exit 1; fi
grep 'elsewhere/plugin.yaml:5: .*provide' refused.txt
if PATH=/nonexistent "$SEER" plugin build expose-my-go 2>refused.txt; then exit 1; fi
grep 'https://go.dev/dl' refused.txt

# At every save: a mistake is shown and the last good build stays; then the next good one.
until_seen() {
  for _ in $(seq 3000); do
    grep -q "$1" dev.txt && return
    kill -0 $dev || break
    sleep 0.1
  done
  cat dev.txt >&2
  return 1
}
GOPROXY=off "$SEER" plugin dev expose-my-go --no-test >dev.txt 2>&1 </dev/null &
dev=$!
trap 'kill $dev 2>/dev/null || true' EXIT
until_seen 'built expose-my-go 0.1.0'
echo 'func' >>expose-my-go/main.go
until_seen 'main.go:.*syntax error'
test "$(sha256sum <expose-my-go/dist/expose-my-go.wasm)" = "$before"
sed -i -e '$d' expose-my-go/main.go
sed -i 's/^version: .*/version: 0.2.0/' expose-my-go/plugin.yaml
until_seen 'built expose-my-go 0.2.0'
kill -INT $dev
wait $dev && exit 1 || test $? = 130
trap - EXIT
