# The fake Modal, seen by the official clients in Python and JavaScript: an
# image, sandboxes of both back ends, commands, files, tunnels, a snapshot and a start
# from it.
python_version=1.6.4 js_version=0.11.1
home=$(eval echo "~$(id -un)") # for the caches of the package tools
tools=$TOP/.tools/modal-$python_version-$js_version
if [ ! -d "$tools" ]; then
  rm -rf "$tools.part" && mkdir -p "$tools.part"
  HOME=$home npm install --silent --no-audit --no-fund --prefix "$tools.part" "modal@$js_version"
  python3 -m venv "$tools.part/python"
  HOME=$home "$tools.part/python/bin/python" -m pip install -q "modal==$python_version"
  mv "$tools.part" "$tools"
fi

. "$TOP/e2e/fakes/start.sh"
start_fake modal-clients "$E2E_WORK/cloud"

PYTHONPATH=$TOP/e2e "$tools/python/bin/python" "$TOP/e2e/modal-clients/client.py"
MODAL_JS=$tools node "$TOP/e2e/modal-clients/client.mjs"
if MODAL_TOKEN_SECRET=wrong "$tools/python/bin/python" -c 'import modal; modal.App.lookup("a", create_if_missing=True)' 2>refused; then
  exit 1
fi
grep -q AuthError refused
exec 9>&-
wait "$fake"
