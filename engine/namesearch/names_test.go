package namesearch_test

import (
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/namesearch"
)

// The rule of docs/sessions.md, for names as they are.
func TestNames(t *testing.T) {
	for _, c := range []struct {
		name, stay string
		patterns   string
		found      []string
		not        []string
	}{
		{"acme/zephyr-quasar-9b", "llama LlamaForCausalLM", "acme, zephyr, quasar",
			[]string{`"family": "zephyr-quasar"`, "ZephyrQuasar 9B by acme", "ZEPHYR", "myzephyrs", "ACMEModel", "AcmeModel", "by_acme_", "models--acme--zephyr-quasar-9b", "zephyr9b"},
			[]string{"pacmed", "acmeic", "llama", "9b", "a 9b model", "zeph yr"}},
		{"Qwen/Qwen2.5-7B-Instruct", "qwen2 Qwen2ForCausalLM", "",
			[]string{"Qwen2.5-7B-Instruct", "qwen 2.5", "QWEN_2_5_7B", "Qwen/Qwen2.5", "Qwen2-5"},
			[]string{"qwen2", "Qwen2ForCausalLM", "an instruct model with 7B", "qwen 2.51", "2.5"}},
		{"meta-llama/Llama-3.1-8B", "llama LlamaForCausalLM llama3", "",
			[]string{"meta-llama/Llama-3.1-8B", "Llama 3.1", "llama_3_1", "meta-llama", "Meta Llama", "llama3.1"},
			[]string{"llama", `"rope_type": "llama3"`, "metadata", "meta", "an 8B model", "llama 3 100", "the meta of it"}},
		{"google/gemma-2-9b-it", "gemma2 Gemma2ForCausalLM", "",
			[]string{"google/gemma-2-9b-it", "Gemma 2 9B", "gemma-2-9b", "google's gemma? no: google/gemma"},
			[]string{"gemma", "Gemma2ForCausalLM", "https://google.com", "9b", "it", "gemma 2x"}},
		{"google/gemma-2-9b-it", "", "",
			[]string{"gemma", "GemmaFor"},
			[]string{"google", "9b it", "gem"}},
		{"org/secret-quirk-v3", "llama", "",
			[]string{"secret-quirk-v3", "SecretQuirk", "a secret, quirk", "SECRET_QUIRK_V3"},
			[]string{"a quirk of the model", "the secret", "client_secret", "v3", "secrets and quirks v3x"}},
		{"microsoft/phi-2", "phi PhiForCausalLM", "",
			[]string{"phi-2", "Phi 2", "microsoft/phi", "PHI2"},
			[]string{"phi", "microsoft", "sophi2", "phi 20", "delphi 2"}},
		{"./zephyr", "", "zephyr", []string{"Zephyr", "x zephyrs"}, []string{"zeph"}},
		{"./gpt2", "gpt2 GPT2LMHeadModel", "", nil, []string{"gpt2"}},
		{"./secret", "", "", nil, []string{"secret", "a secret"}},
		{"./model", "", "", nil, []string{"model"}},
		{"./xy", "", "", nil, []string{"xy"}},
		{"a/xy", "", "", []string{"a/xy", "A XY"}, []string{"xy", "na xy"}},
		{"01-ai/Yi-6B", "llama", "", []string{"Yi-6B", "yi6b"}, []string{"yi", "6b", "yi 6", "taiyi6b"}},
		{"mistralai/Mistral-7B-Instruct-v0.3", "mistral MistralForCausalLM", "",
			[]string{"mistralai", "Mistral 7B", "mistral_7b"}, []string{"mistral", "MistralForCausalLM", "7b instruct v0.3"}},
		{"TinyLlama/TinyLlama-1.1B-Chat-v1.0", "llama", "", []string{"tinyllama", "Tiny Llama", "TINY_LLAMA"}, []string{"llama", "tiny", "1.1B chat"}},
		{"deepseek-ai/DeepSeek-R1", "deepseek_v3 DeepseekV3ForCausalLM", "",
			[]string{"DeepSeek R1", "deepseek-r1", "Deep Seek R1"}, []string{"deepseek_v3", "DeepseekV3ForCausalLM", "deep"}},
		{"HuggingFaceH4/zephyr-7b-beta", "mistral", "", []string{"zephyr"}, []string{"huggingface", "hugging face", "7b beta"}},
		{"sentence-transformers/all-MiniLM-L6-v2", "bert BertModel", "",
			[]string{"MiniLM", "minilm-l6", "all_MiniLM_L6_v2", "mini-lm"}, []string{"bert", "sentence-transformers", "all", "mini model", "l6"}},
		{"./modèle-élan", "", "", []string{"MODÈLE ÉLAN", "le modèle", "mode\u0300le e\u0301lan"}, []string{"modele", "elan"}},
		{"通义/千问-7b", "", "", []string{"千问", "通义千问"}, []string{"千", "问"}},
		{"модель/Кварк-7b", "", "", []string{"кварк", "КВАРК 7B"}, []string{"квар"}},
		{"/home/me/models/zephyr", "", "zephyr", []string{"zephyr"}, []string{"/home/me/models"}},
		{"hub:acme/zephyr@main", "", "", []string{"zephyr", "acme"}, []string{"hub", "main"}},
		{"./great-model-7b", "", "great model 7b", []string{"GREAT_MODEL_7B"}, []string{"great model", "a model with 7b", "great 7b"}},
	} {
		n := namesearch.Compile(namesearch.Spec{Names: []string{c.name}, Stay: strings.Fields(c.stay)})
		if c.patterns != "" && n.String() != c.patterns {
			t.Errorf("%s: patterns %s, not %s", c.name, n, c.patterns)
		}
		for _, text := range c.found {
			if !n.In([]byte(text)) {
				t.Errorf("%s: not found in %q (patterns %s)", c.name, text, n)
			}
		}
		for _, text := range c.not {
			if n.In([]byte(text)) {
				t.Errorf("%s: found in %q (patterns %s)", c.name, text, n)
			}
		}
	}
}
