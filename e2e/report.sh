# The pages of runs in a real browser: by keyboard, on a phone, in print, in the dark, and with content
# that attacks.
playwright_version=1.65.1
export PLAYWRIGHT=$TOP/.tools/playwright-core-$playwright_version CHROMIUM
CHROMIUM=$(command -v chromium || command -v google-chrome || true)
[ -n "$CHROMIUM" ] || HOME=$(eval echo "~$(id -un)") "$TOP/scripts/setup" e2e
CHROMIUM=$(command -v chromium || command -v google-chrome)
bash "$TOP/e2e/mcp/npm.sh" playwright

pages=$PWD/pages && mkdir "$pages"
(cd "$TOP" && go run -trimpath ./internal/testruns/write "$pages")
node "$TOP/e2e/report/page.mjs" "$pages"
