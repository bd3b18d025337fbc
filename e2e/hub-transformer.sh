# A small real transformer with its tokenizer, gated, an adapter of it and a dataset, served by
# the fake Hub: from_pretrained finds them by their names at the Hub in an interface, a notebook
# and a shell, without a network and with real transformers, peft and huggingface_hub; a hidden
# model it does not find. The second start transfers nothing.
python=${SEER_E2E_PYTHON:-$(ls -d "$TOP"/.tools/models-*/bin/python | tail -n 1)}
test -n "$python" && "$python" -c 'import torch, transformers, peft' || {
  echo "no Python with torch, transformers and peft: apt-get install python3-torch, then scripts/setup e2e" >&2
  exit 1
}
# The newest clients, whose transformers wants a newer torch than Debian's: without models.
transformers_version=5.23.0 hub_version=2.4.0
newest=$TOP/.tools/transformers-$transformers_version-$hub_version
if [ ! -d "$newest" ]; then
  rm -rf "$newest.part"
  python3 -m venv "$newest.part"
  HOME=$(eval echo "~$(id -un)") "$newest.part/bin/python" -m pip install -q "transformers==$transformers_version" "huggingface_hub==$hub_version"
  mv "$newest.part" "$newest"
fi

mkdir repos
(cd repos && "$python" "$TOP/e2e/hub-transformer/make.py" 2>make.log || { cat make.log; exit 1; })
rm -f repos/make.log
. "$TOP/e2e/fakes/start.sh"
start_fake hub-transformer repos
export HF_TOKEN=hf_alice
sent() { # how many bytes of files the Hub has sent
  local before
  before=$(wc -l <answers)
  echo >&9
  until [ "$(wc -l <answers)" -gt "$before" ]; do sleep 0.05; done
  tail -n 1 answers
}
seer() { "$SEER" "$@" 9>&-; }
trap 'seer down --all >/dev/null || true' EXIT

cat >interface.py <<'P'
import os

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("org/gated-base")
model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained("org/gated-base"), "org/adapter")
same = AutoTokenizer.from_pretrained(get_model_path("org/gated-base"))
assert same.get_vocab() == tokenizer.get_vocab()


@expose
def next_word(text: str) -> str:
    with torch.no_grad():
        return tokenizer.decode(int(model(**tokenizer(text, return_tensors="pt", return_token_type_ids=False)).logits[0, -1].argmax()))


@expose
def configured() -> list:
    return [[m["name"], m["hidden"]] for m in list_configured_models()]


@expose
def words() -> str:
    return open(os.path.join(get_dataset_path("org/words"), "words.txt")).read()
P
cat >agent.py <<'P'
import tools

print("the agent has", tools.words().split(), tools.configured(), len(tools.next_word("the fox").split()))
P
things() {
  cat <<'Y'
  network: none
  models:
    - org/gated-base
    - {name: org/adapter, var_name: tuned, is_peft: true, base_model: org/gated-base}
    - {name: org/quagmire, var_name: secret, hidden: true}
  datasets: [org/words]
Y
}
{
  printf 'sandbox:\n' && things
  printf 'serve: [{file: interface.py, name: tools}]\nagent: {command: [python3, agent.py]}\nworkspace: {files: [agent.py]}\n'
} >scoped.yaml
{ printf 'sandbox:\n  execution_mode: notebook\n' && things; } >notebook.yaml

# An interface, by an agent; the second time without a byte of a file.
export SEER_PYTHON=$python
for _ in 1 2; do
  seer run --yes scoped.yaml >run.out 2>run.err || { cat run.out run.err; exit 1; }
  grep -Fx "the agent has ['fox', 'river'] [['org/gated-base', False], ['org/adapter', False], ['secret', True]] 1" run.out ||
    { cat run.out run.err; exit 1; }
  sent >>sent
done
[ "$(head -n 1 sent)" -gt 100000 ] && [ "$(uniq sent | wc -l)" = 1 ] || { cat sent; exit 1; }

# A notebook, in which the models are loaded, and a shell beside it.
seer up --yes notebook.yaml --name lab -q
url=$(seer show lab --keys | awk '$1 == "jupyter" {print $2}')
{
  echo 'assert type(tuned).__name__.startswith("Peft") and "Llama" in type(model).__name__ and secret is not model'
  cat "$TOP/e2e/hub-transformer/names.py"
} | "$python" "$TOP/e2e/models/cells.py" "$url" one >cell.out
seer exec lab -- python3 - <"$TOP/e2e/hub-transformer/names.py" >shell.out 2>shell.err || { cat shell.out shell.err; exit 1; }
grep '^found .*adapted' shell.out
diff <(grep -o "found {.*" cell.out) <(grep -o "found {.*" shell.out) || { cat cell.out; exit 1; }
seer down lab -q

# The newest clients.
SEER_PYTHON=$newest/bin/python seer up --yes scoped.yaml --set serve=[] --set agent= --name newest -q
seer exec newest -- python3 - <"$TOP/e2e/hub-transformer/names.py" >newest.out 2>newest.err || { cat newest.out newest.err; exit 1; }
diff <(grep -o '"ids": [^]]*]' newest.out) <(grep -o '"ids": [^]]*]' shell.out)

# A sandbox that reaches the Hub completes what is there, and needs no token for what it has.
for SEER_PYTHON in "$newest/bin/python" "$python"; do
seer up --yes scoped.yaml --set serve=[] --set agent= --set sandbox.network=host \
  --set "sandbox.env={HF_ENDPOINT: $HF_ENDPOINT}" --set sandbox.models='[org/gated-base, {name: org/quagmire, include: [config.json]}]' --name open -q
seer exec open -- python3 - <<'P'
import os
from huggingface_hub import snapshot_download

from transformers import AutoTokenizer

assert "HF_HUB_OFFLINE" not in os.environ and "HF_TOKEN" not in os.environ
assert len(AutoTokenizer.from_pretrained("org/gated-base")) > 10
try:
    import torch  # noqa: F401
except ImportError:
    pass
else:
    from transformers import AutoModelForCausalLM

    assert AutoModelForCausalLM.from_pretrained("org/gated-base").num_parameters() > 10_000
mounted = os.environ["MODEL_ORG_QUAGMIRE_PATH"]
assert os.listdir(mounted) == ["config.json"], os.listdir(mounted)
folder = snapshot_download("org/quagmire")
assert {"config.json", "model.safetensors", "pytorch_model.bin"} < set(os.listdir(folder)), os.listdir(folder)
assert os.path.samefile(os.path.join(folder, "config.json"), os.path.join(mounted, "config.json"))
assert os.listdir(mounted) == ["config.json"], "the model has changed"
P
seer down open -q
done
seer down --all -q
exec 9>&-
wait "$fake"
