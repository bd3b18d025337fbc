# An agent's notebook that is open in a browser: cells and outputs appear there while they
# run, and what a person types is what the agent reads and runs. The real server of
# JupyterLab with jupyter-collaboration, and a second client of the shared document.
python=$TOP/.tools/jupyterlab-4.6.6/bin/python
[ -x "$python" ] || "$TOP/scripts/setup" e2e
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$TOP/engine/python timeout 1200 "$python" "$TOP/e2e/notebook/kept.py" 15
mkdir work
cat >config.json <<EOF
{"root":"$PWD/work","notebooks_dir":"notebooks","ip":"127.0.0.1","port":0,"token":"a-token-of-the-test","lab":true}
EOF
: >log
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$TOP/engine/python "$python" -m seer_notebook --config config.json 2>>log &
service=$!
trap 'kill $service; wait $service || true' EXIT
until url=$(sed -n 's/.*listening at //p' log) && [ -n "$url" ]; do
  kill -0 $service || { cat log >&2 && exit 1; }
  sleep 0.1
done
timeout 1200 "$python" "$TOP/e2e/notebook/person.py" "$url" a-token-of-the-test || { cat log >&2 && exit 1; }
