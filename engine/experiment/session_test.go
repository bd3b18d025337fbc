package experiment_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
)

// Whoever reads paths and variables of a sandbox learns nothing of a hidden model.
func TestHiddenModelsHaveNoNameOfTheirOwn(t *testing.T) {
	var got []string
	for _, m := range modelsOf(t, "sandbox: {execution_mode: notebook, models: [{name: google/gemma-2-9b, hidden: true}, {name: o/adapter, var_name: probe, hidden: true, is_peft: true, base_model: meta/llama}]}") {
		got = append(got, m.SandboxPath()+" "+m.EnvName())
	}
	want := []string{"/models/model MODEL_MODEL_PATH", "/models/probe MODEL_PROBE_PATH", "/models/probe_base MODEL_PROBE_BASE_PATH"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// A folder that only an adapter names is as absolute as one that is listed.
func TestBaseModelInFolder(t *testing.T) {
	if base := modelsOf(t, "sandbox: {execution_mode: cli, models: [{name: o/a, is_peft: true, base_model: ./b}]}")[1]; base.Source != "folder" || !filepath.IsAbs(base.Path) || filepath.Base(base.Path) != "b" {
		t.Errorf("got %+v", base)
	}
}

// A base model is fetched once, whoever needs it.
func TestBaseModelsAreWeights(t *testing.T) {
	var got []string
	for _, m := range modelsOf(t, "sandbox: {execution_mode: cli, models: [{name: o/a, is_peft: true, base_model: o/b}, {name: o/c, var_name: c, is_peft: true, base_model: o/b}, {name: ./d, var_name: d}, {name: o/e, var_name: e, is_peft: true, base_model: ./d}]}") {
		got = append(got, m.Name+" "+m.TokenizerName())
	}
	want := []string{"o/a tokenizer", "o/c c_tokenizer", "./d d_tokenizer", "o/e e_tokenizer", "o/b _tokenizer"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestConfig(t *testing.T) {
	e, err := parse("name: a\ngpu: {gpu_type: A100}\nmodels: [./m]\n", "sandbox.timeout=90m")
	if err != nil {
		t.Fatal(err)
	}
	text, err := e.Config()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Name    string
		Sandbox struct {
			GPU           []string
			ExecutionMode string `json:"execution_mode"`
			Timeout       float64
			Models        []map[string]any
		}
	}
	if err := json.Unmarshal(text, &got); err != nil || got.Name != "a" || got.Sandbox.Timeout != 5400 || got.Sandbox.ExecutionMode != "notebook" ||
		len(got.Sandbox.Models) != 1 || got.Sandbox.Models[0]["name"] != "./m" || got.Sandbox.GPU[0] != "A100" {
		t.Errorf("%s: %+v, %v", text, got, err)
	}
	code := &experiment.Experiment{Sandbox: experiment.Sandbox{ExecutionMode: experiment.ModeCLI}}
	if err := code.Complete("/lab"); err != nil {
		t.Fatal(err)
	}
	if text, err = code.Config(); err != nil || !strings.Contains(string(text), `"ExecutionMode":"cli"`) {
		t.Errorf("%s, %v", text, err)
	}
}

// What torch takes as a device is not refused before it is asked.
func TestDevicesOfTorch(t *testing.T) {
	for _, device := range []string{"auto", "cpu", "cpu:0", "cuda", "cuda:1", "mps:0", "meta", "xpu:2", "mtia", "mlu:0", "musa", "npu:7", "privateuseone:1"} {
		e, err := parse("sandbox: {execution_mode: cli, models: [{name: o/m, device: '" + device + "'}]}")
		if err != nil || device != "auto" && e.Sandbox.Models[0].Device != device {
			t.Errorf("%s: %v", device, err)
		}
	}
	for _, device := range []string{"gpu", "cuda:", "cuda:x", "cuda:-1", "cpu0", "CPU", "mps:0 "} {
		if _, err := parse("sandbox: {execution_mode: cli, models: [{name: o/m, device: '" + device + "'}]}"); err == nil || !strings.Contains(err.Error(), "is not a device of torch") {
			t.Errorf("%q: %v", device, err)
		}
	}
}

// Models without a variable get one each; only variables that the user names can clash.
func TestVariablesOfModels(t *testing.T) {
	exp, err := parse("sandbox:\n  execution_mode: notebook\n  models: [./a, {name: ./b, var_name: model_2}, ./c, ./d]\n")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range exp.Sandbox.Models {
		got = append(got, m.VarName+" "+m.TokenizerName())
	}
	if want := "model tokenizer, model_2 model_2_tokenizer, model_3 model_3_tokenizer, model_4 model_4_tokenizer"; strings.Join(got, ", ") != want {
		t.Errorf("%q", got)
	}
	_, err = parse("sandbox:\n  execution_mode: notebook\n  models: [{name: ./a, var_name: m}, {name: ./b, var_name: m}]\n")
	if err == nil || !strings.Contains(err.Error(), "the variable `m` is already that of `./a`") {
		t.Errorf("%v", err)
	}
}
