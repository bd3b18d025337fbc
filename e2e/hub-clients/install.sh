#!/usr/bin/env bash
# install.sh: installs the official clients of the Hub, pinned, into .tools, and prints the
# folder: node_modules, python with hf-xet, and python-plain without.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
python_version=2.4.0 xet_version=1.8.0 js_version=2.17.5
tools=$top/.tools/hub-clients-$python_version-$xet_version-$js_version
HOME=$(eval echo "~$(id -un)") # for the caches of the package tools
export HOME
if [ ! -d "$tools" ]; then
  part=$(mktemp -d "$top/.tools/building-XXXXXX")
  npm install --silent --no-audit --no-fund --prefix "$part/clients" "@huggingface/hub@$js_version" >&2
  for name in python python-plain; do
    python3 -m venv "$part/clients/$name"
    "$part/clients/$name/bin/python" -m pip install -q --disable-pip-version-check "huggingface_hub==$python_version" >&2
  done
  "$part/clients/python/bin/python" -m pip install -q --disable-pip-version-check "hf-xet==$xet_version" >&2
  "$part/clients/python-plain/bin/python" -m pip uninstall -q -y hf-xet >&2
  mv "$part/clients" "$tools" && rmdir "$part"
fi
echo "$tools"
