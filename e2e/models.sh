# Models in a notebook's kernel with the real transformers and peft: what is asked for is
# what is loaded, and of a hidden one nothing that an agent can look at has the name.
SEER_PYTHON=$(ls -d "$TOP"/.tools/models-*/bin/python | tail -n 1)
test -n "$SEER_PYTHON" && "$SEER_PYTHON" -c 'import torch, transformers, peft' || {
  echo "no Python with torch, transformers and peft: apt-get install python3-torch, then scripts/setup e2e" >&2
  exit 1
}
export SEER_PYTHON HF_HUB_OFFLINE=1
trap '"$SEER" down --all >/dev/null || true' EXIT
"$SEER_PYTHON" "$TOP/e2e/models/make.py"
cells() { # cells SANDBOX SESSION [restart] <CODE
  local url
  url=$("$SEER" show "$1" --keys | awk '$1 == "jupyter" {print $2}')
  python3 "$TOP/e2e/models/cells.py" "$url" "${@:2}"
}

cat >loaded.yaml <<'Y'
sandbox:
  execution_mode: notebook
  models:
    - {name: ./quagmire-9b, dtype: float16, device: cpu}
    - {name: ./bramble-2b, var_name: small}
    - {name: ./encoder, var_name: encoder, dtype: float32}
    - {name: ./parrot-lora, var_name: parrot, is_peft: true, base_model: ./quagmire-9b}
    - {name: ./thistle-1b, var_name: blank, load_as_peft: true, dtype: bfloat16}
Y
"$SEER" up --yes loaded.yaml --name loaded -q
cells loaded one <"$TOP/e2e/models/loaded.py" | grep -x 'as asked'
cells loaded one restart </dev/null
cells loaded one <"$TOP/e2e/models/loaded.py" | grep -x 'as asked'
cells loaded two <"$TOP/e2e/models/loaded.py" | grep -x 'as asked'
"$SEER" down loaded -q

# What cannot be loaded is an error of the start with its line, the reason and what to do,
# and leaves nothing: most of it before anything starts.
refused() { # refused MODE CODE MODEL [MORE] <WORDS: each of them is said
  printf 'sandbox:\n  execution_mode: %s%s\n  models:\n  - %s\n' "$1" "${4:+$'\n'  $4}" "$3" >broken.yaml
  local code=0 words
  "$SEER" up --yes broken.yaml --name broken >broken.out 2>&1 </dev/null || code=$?
  while read -r words; do
    [ "$code" = "$2" ] && grep -qF -- "$words" broken.out || { echo "$3: ended with $code, not with $2 and: $words" && cat broken.out && exit 1; } >&2
  done
  test "$("$SEER" ls --json)" = "[]"
}
before() {
  refused "$@"
  if grep '^machine:' broken.out >&2; then exit 1; fi
}
before notebook 3 '{name: ./quagmire-9b, dtype: blfoat16}' <<<'broken.yaml:4: sandbox.models.0.dtype: `blfoat16` is not a dtype'
before notebook 3 '{name: ./parrot-lora, is_peft: true}' <<<'broken.yaml:4: sandbox.models.0: is_peft needs base_model'
before cli 3 '{name: ./parrot-lora, is_peft: true, base_model: ./nowhere}' <<<'broken.yaml:4: sandbox.models.0.base_model: there is no `'
before notebook 3 '{name: ./parrot-lora, load_as_peft: true}' <<<'broken.yaml:4: sandbox.models.0: the model `./parrot-lora` cannot be loaded: it is a PEFT adapter and no whole model; set is_peft'
before notebook 3 '{name: ./bramble-2b, is_peft: true, base_model: ./quagmire-9b}' <<<'it has no adapter_config.json, so it is not a PEFT adapter; remove is_peft'
before notebook 3 '{name: ./cut-weights, hidden: true}' <<<'broken.yaml:4: sandbox.models.0: the model `./cut-weights` cannot be loaded: its file model.safetensors is damaged'
before cli 3 ./no-config <<<'broken.yaml:4: sandbox.models.0: the model `./no-config` cannot be loaded: it has no config.json'
refused notebook 3 ./no-weights <<<'broken.yaml:4: sandbox.models.0: the model `./no-weights` cannot be loaded: OSError: Error no file named'
refused cli 3 '{name: ./quagmire-9b, hidden: true, device: "cuda:1"}' <<'W'
broken.yaml:4: sandbox.models.0.device: the model `./quagmire-9b` cannot be loaded: RuntimeError: there is no device 'cuda:1'
set sandbox.gpu
load("/models/model"
W
refused cli 3 '{name: ./quagmire-9b, dtype: float8_none}' <<<"broken.yaml:4: sandbox.models.0.dtype: the model \`./quagmire-9b\` cannot be loaded: ValueError: dtype 'float8_none' is not a dtype of torch"
refused notebook 3 '{name: ./parrot-lora, is_peft: true, base_model: ./osier-3b}' <<<'broken.yaml:4: sandbox.models.0.base_model: the model `./parrot-lora` cannot be loaded: ValueError: the adapter /models/parrot-lora does not fit'
refused notebook 3 ./own-code <<<'Seer runs no code that a model brings; if you trust it, set workspace.preload_models: false'
if grep "own code has run" broken.out; then exit 1; fi
# Memory that is too small, where this computer can limit it.
echo '{sandbox: {execution_mode: cli, memory: 512MB}}' >limited.yaml
"$SEER" up --yes limited.yaml --name limited 2>limited.err
"$SEER" down limited -q
for mode in notebook cli; do
  if grep -q 'are not limited' limited.err; then break; fi
  refused $mode 3 ./larch-70b 'memory: 512MB' <<'W'
broken.yaml:3: sandbox.memory: the
sandbox's memory of 0.5 GiB was full; set sandbox.memory to more than the models need
W
done

# Ctrl-C while a model is loaded: a torch that says so and waits for ever.
mkdir slow && printf 'import os, time\nos.mkdir("/workspace/loading")\ntime.sleep(1e6)\n' >slow/__init__.py
echo '{sandbox: {execution_mode: notebook, models: [./bramble-2b], local_dirs: [[./slow, /workspace/torch]]}}' >slow.yaml
"$SEER" up --yes slow.yaml --name slow >slow.out 2>&1 &
up=$!
until "$SEER" exec slow -- test -d /workspace/loading 2>/dev/null; do
  kill -0 $up || { cat slow.out && exit 1; }
  sleep 0.1
done
kill -INT $up
code=0
wait $up || code=$?
[ $code = 130 ] && [ "$("$SEER" ls --json)" = "[]" ] || { cat slow.out && exit 1; }

# Who wants to load the models alone finds them where the variable says.
echo "{sandbox: {execution_mode: notebook, models: [./bramble-2b]}, workspace: {preload_models: false}}" >alone.yaml
"$SEER" up --yes alone.yaml --name alone -q
cells alone one <<'P' | grep -x 'as asked'
assert "model" not in globals()
import os, transformers
model = transformers.AutoModelForCausalLM.from_pretrained(os.environ["MODEL_BRAMBLE_2B_PATH"])
print("as asked")
P
"$SEER" down alone -q

# Each attack finds the name of a model that is not hidden, and none that of one that is.
attack() { # attack HIDDEN WORKSPACE
  cat >attack.yaml <<Y
sandbox:
  execution_mode: notebook
  models:
    - {name: ./quagmire-9b, hidden: $1}
    - {name: ./parrot-lora, var_name: adapted, is_peft: true, base_model: ./thistle-1b, hidden: $1}
workspace: $2
Y
  "$SEER" up --yes attack.yaml --name attack -q
  cells attack one <"$TOP/e2e/models/attack.py" >attack.out
  sed -n 's/^RESULT //p' attack.out >"attack-$1.json"
  "$SEER" down attack -q
}
planted=$(python3 -c 'import json, sys; print(json.dumps(sys.stdin.read()))' <"$TOP/e2e/models/planted.py")
attack false "{hidden_model_loading: false, init: $planted}"
attack true '{hidden_model_loading: false}'
python3 - <<'P'
import json
told, hidden = (json.load(open("attack-%s.json" % h)) for h in ("false", "true"))
assert len(told) > 20 and all(told.values()), [k for k in told if not told[k]]
assert set(hidden) == set(told) and not any(hidden.values()), [k for k in hidden if hidden[k]]
P
