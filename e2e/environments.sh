# Packages from the real index, Jupyter, apt and a build that is killed. Needs the network;
# scripts/setup e2e has put runsc beside seer.
layers=$HOME/.cache/seer/layers
trap '"$SEER" down --all >/dev/null || true' EXIT
up() { "$SEER" up --yes "$1.yaml" --name "$1" >"$1.out" 2>&1 || { cat "$1.out"; exit 1; }; }
not() { if "$@"; then echo "this was not to succeed: $*"; exit 1; fi; }
run() { "$SEER" exec "$1" -- sh -c "$2"; }

cat >small.yaml <<'Y'
sandbox: {isolation: bubblewrap, python_packages: [einops, "jupyter-server>=2", ipykernel]}
Y
up small
grep -q "^boot: building the layer of 3 Python packages" small.out
run small 'python -c "import einops, jupyter_server"; jupyter kernelspec list; command -v jupyter' >said
grep -q "python3 .*share/jupyter/kernels/python3" said
grep -q "^/seer/layer/python/bin/jupyter" said
run small 'pip install -q cowsay && python -c "import cowsay, einops"'
"$SEER" down small
up small
not grep -q building small.out
run small '! python -c "import cowsay" 2>/dev/null'
"$SEER" down small

# What notebook mode needs is there once: who adds a package installs that, and one's own
# version of what it needs goes before it.
echo "sandbox: {execution_mode: notebook, isolation: bubblewrap}" >plain.yaml
echo "sandbox: {execution_mode: notebook, isolation: bubblewrap, python_packages: [einops, 'ipykernel<7']}" >more.yaml
up plain
grep -q "^boot: installing Jupyter for notebook mode, once for this Python" plain.out
"$SEER" down plain
up more
not grep -q "installing Jupyter" more.out
grep -q "^boot: building the layer of 2 Python packages" more.out
grep -q "Successfully installed .*einops" more.out
not grep -q "Successfully installed .*jupyter" more.out
run more 'python -c "import einops, ipykernel, jupyterlab; print(einops.__file__, ipykernel.__version__, jupyterlab.__file__)"; pip list 2>/dev/null | grep -c -i "^ipykernel "' >said
grep -q "^/seer/layer/.* 6[.].* /seer/base/" said
grep -qx 1 said
"$SEER" down more

cat >wrong.yaml <<'Y'
sandbox: {python_packages: [no-such-package-of-seer]}
Y
if "$SEER" up --yes wrong.yaml >wrong.out 2>&1; then exit 1; fi
grep -q "seer: wrong.yaml:1: sandbox.python_packages.0: installing Python packages failed with exit code 1: .*No matching distribution found for no-such-package-of-seer" wrong.out

cat >system.yaml <<'Y'
sandbox: {system_packages: [tree], python_packages: [einops], image: {commands: ["python -c 'import einops' && tree --version > /usr/local/made"]}}
Y
up system
[[ $(run system 'command -v tree; cat /usr/local/made') == *"tree v"* ]]
"$SEER" down system
up system
not grep -q building system.out
[[ $(run system 'command -v tree; python -c "import einops"') == *tree* ]]
"$SEER" down system

mkdir own && git -C own init -q && git -C own -c user.name=a -c user.email=b commit -q --allow-empty -m x
echo "sandbox: {repos: [{url: 'file://$PWD/own', install: 'sleep 300'}]}" >killed.yaml
"$SEER" up --yes killed.yaml >killed.out 2>&1 &
until [[ $(ls "$layers") == *partial* ]] && grep -q "booting the runtime" killed.out; do
  kill -0 $! || { cat killed.out; exit 1; }
  sleep 0.1
done
kill -9 $!
wait $! || true
[[ $(ls "$layers") == *partial* ]]
[[ $("$SEER" gc) == *"its building was broken off"* ]]
not grep -q partial <(ls "$layers")
