# Models in a notebook's kernel with the real transformers and peft: what is asked for is
# what is loaded, and of a hidden one nothing that an agent can look at has the name.
SEER_PYTHON=$(ls -d "$TOP"/.tools/models-*/bin/python | tail -n 1)
test -n "$SEER_PYTHON" && "$SEER_PYTHON" -c 'import torch, transformers, peft' || {
  echo "no Python with torch, transformers and peft: apt-get install python3-torch, then scripts/setup e2e" >&2
  exit 1
}
export SEER_PYTHON HF_HUB_OFFLINE=1
trap '"$SEER" down --all >/dev/null' EXIT
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
"$SEER" up loaded.yaml --name loaded -q
cells loaded one <"$TOP/e2e/models/loaded.py" | grep -x 'as asked'
cells loaded one restart </dev/null
cells loaded one <"$TOP/e2e/models/loaded.py" | grep -x 'as asked'
cells loaded two <"$TOP/e2e/models/loaded.py" | grep -x 'as asked'
"$SEER" down loaded -q

# What cannot be loaded is an error of the start, with the traceback.
for broken in no-weights:OSError cut-weights:SafetensorError; do
  echo "sandbox: {execution_mode: notebook, models: [./${broken%:*}]}" >broken.yaml
  if "$SEER" up broken.yaml --name broken >broken.out 2>&1; then exit 1; fi
  grep -q "${broken#*:}" broken.out || { cat broken.out && exit 1; }
  test "$("$SEER" ls --json)" = "[]"
done

# Who wants to load the models alone finds them where the variable says.
echo "{sandbox: {execution_mode: notebook, models: [./bramble-2b]}, workspace: {preload_models: false}}" >alone.yaml
"$SEER" up alone.yaml --name alone -q
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
    - {name: ./parrot-lora, var_name: parrot, is_peft: true, base_model: ./thistle-1b, hidden: $1}
workspace: $2
Y
  "$SEER" up attack.yaml --name attack -q
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
