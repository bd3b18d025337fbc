# Logs of runs for Inspect AI, read by the real inspect_ai: their content, its schema, its
# bundle; and by Scout and Docent.
tools=$(bash "$TOP/e2e/inspect/venv.sh")
pages=$PWD/pages && mkdir "$pages" logs
(cd "$TOP" && go run -trimpath ./internal/testruns/write "$pages")
mv "$pages"/*.eval logs
"$tools/bin/python" -B -m inspect_ai log schema >schema.json
"$tools/bin/python" -B "$TOP/e2e/inspect/read_logs.py" logs schema.json
"$tools/bin/python" -B -m inspect_ai view bundle --log-dir logs --output-dir bundle >bundle.out 2>&1 || { cat bundle.out >&2 && exit 1; }
[ -s bundle/index.html ]
for log in logs/*.eval; do cmp "$log" "bundle/logs/${log##*/}"; done

readers=$(bash "$TOP/e2e/inspect/venv.sh" readers)
"$readers/bin/python" -B "$TOP/e2e/inspect/other_readers.py" logs
