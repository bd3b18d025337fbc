# Programs like those of the documented Python API, block by block, on this computer: models of
# the fake Hub by the names that the documentation has, real transformers and Jupyter. Only the
# GPU and the agent's program differ from a run at a cloud.
python=${SEER_E2E_PYTHON:-$(ls -d "$TOP"/.tools/models-*/bin/python | tail -n 1)}
test -n "$python" && "$python" -c 'import torch, transformers, peft, accelerate' || {
  echo "no Python with torch, transformers, peft and accelerate: apt-get install python3-torch, then scripts/setup e2e" >&2
  exit 1
}

# Repositories of the Hub: one small model under each name, and an adapter of it.
mkdir hub
(cd hub && "$python" "$TOP/e2e/hub-transformer/make.py" 2>make.log || { cat make.log; exit 1; })
"$python" - <<'P'
import json, os, pathlib, shutil

hub = pathlib.Path("hub")
for name in ("google--gemma-2-2b-it", "google--gemma-2-9b", "google--gemma-2-9b-it", "meta-llama--Llama-2-7b"):
    shutil.copytree(hub / "org--gated-base", hub / name)
    path = hub / name / "tokenizer_config.json"  # Gemma's and Llama's tokenizers give these two, too
    path.write_text(json.dumps({**json.loads(path.read_text()), "model_input_names": ["input_ids", "attention_mask"]}))
os.rename(hub / "org--adapter", hub / "my-org--my-adapter")
path = hub / "my-org--my-adapter" / "adapter_config.json"
path.write_text(json.dumps({**json.loads(path.read_text()), "base_model_name_or_path": "meta-llama/Llama-2-7b"}))
for name in ("org--gated-base", "datasets--org--words"):
    shutil.rmtree(hub / name)
P
rm -f hub/make.log
. "$TOP/e2e/fakes/start.sh"
start_fake hub-transformer hub

# Repositories of Git, in the place of GitHub's, of which one can be installed without an index;
# and a wheel in the place of one of PyPI.
for name in org/repo org/other myorg/my-research-code; do
  mkdir -p "git/$name"
  [ $name != org/other ] || cp "$TOP"/e2e/python-api/package/* "git/$name"
  (cd "git/$name" && git init -q && echo "the repository" >README && echo >helper.py &&
    git add . && git -c user.name=n -c user.email=n@localhost -c commit.gpgsign=false commit -qm one)
done
mkdir wheels
"$python" - <<'P'
import zipfile

with zipfile.ZipFile("wheels/einops-0.0.1-py3-none-any.whl", "w") as wheel:
    wheel.writestr("einops/__init__.py", '__version__ = "0.0.1"\n')
    wheel.writestr("einops-0.0.1.dist-info/METADATA", "Metadata-Version: 2.1\nName: einops\nVersion: 0.0.1\n")
    wheel.writestr("einops-0.0.1.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr("einops-0.0.1.dist-info/RECORD", "")
P
export LAB_GIT=file://$PWD/git

cp "$TOP"/e2e/python-api/*.py .
mkdir -p tasks/{my-experiment,with-image}
cat >tasks/my-experiment/config.yaml <<Y
name: "my-experiment"
gpu:
  gpu_type: null
  use_model_volumes: false
models:
  - name: "google/gemma-2-9b-it"
    device: "auto"
    dtype: "bfloat16"
github_repos:
  - "$LAB_GIT/myorg/my-research-code"
Y
printf 'name: with-image\ngpu: {gpu_type: null}\nimage: {commands: ["echo made > /etc/made"]}\n' >tasks/with-image/config.yaml
# VS Code, if e2e/browsers.sh has installed it.
code_server_version=$(sed -n 's/^const Version = "\(.*\)"$/\1/p' "$TOP/engine/codeserver/install.go")
vscode=$(find "$TOP/.tools/data-code-server-$code_server_version" -type d -path '*/node_modules/code-server' -prune 2>/dev/null | head -n 1 || true)
if [ -n "$vscode" ]; then export LAB_VSCODE=1 SEER_CODE_SERVER=$vscode; fi
SEER_AGENT_CLAUDE=$("$python" -c 'import shlex; print("python3 -c", shlex.quote(open("agent_program.py").read()))')
export SEER_AGENT_CLAUDE ANTHROPIC_API_KEY=none # its program asks no model
export SEER_PYTHON=$python SEER_PROGRAM=$SEER PYTHONPATH=$TOP/python
for program in sandbox sessions scoped stages agent; do
  "$python" $program.py >$program.out 2>$program.err 9>&- || { tail -n 40 $program.out $program.err; exit 1; }
done
for words in "sandbox notebook, files and snapshot" "sandbox all fields" "sessions sessions" "scoped an agent with tools" \
  "agent - **num_layers**: 2" "agent - **embedding**: 32 numbers"; do
  grep -Fx -- "${words#* }" "${words%% *}.out"
done
grep -q '^tools .*execute_code' stages.out # of the notebook
"$python" -m pytest -q -p no:cacheprovider test_elsewhere.py 9>&-
if "$SEER" list | grep running; then exit 1; fi
