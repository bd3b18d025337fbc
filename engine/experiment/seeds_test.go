package experiment_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
)

// seedField is a setting that the API of the seeds has, and how it is written.
// refused says that this version understands it and says no.
type seedField struct {
	seed, yaml string
	refused    string
}

func seedFields() []seedField {
	return []seedField{
		{"SandboxConfig.gpu", `sandbox: {gpu: A100}`, ""},
		{"SandboxConfig.gpu = None", `sandbox: {gpu: null}`, ""},
		{"SandboxConfig.gpu_count", `sandbox: {gpu: A100, gpu_count: 2}`, ""},
		{"SandboxConfig.execution_mode = NOTEBOOK", `sandbox: {execution_mode: notebook}`, ""},
		{"SandboxConfig.execution_mode = CLI", `sandbox: {execution_mode: cli}`, ""},
		{"SandboxConfig.execution_mode = LOCAL", `sandbox: {execution_mode: local}`, ""},
		{"SandboxConfig.models", `sandbox: {models: [google/gemma-2-9b]}`, ""},
		{"SandboxConfig.repos", `sandbox: {repos: [org/repo]}`, ""},
		{"SandboxConfig.python_packages", `sandbox: {python_packages: [torch, transformers, accelerate]}`, ""},
		{"SandboxConfig.system_packages", `sandbox: {system_packages: [git]}`, ""},
		{"SandboxConfig.provider", `sandbox: {provider: modal}`, ""},
		{"SandboxConfig.provider = a list", `sandbox: {provider: [runpod, modal], gpu: [H100, A100-80GB]}`, ""},
		{"SandboxConfig.secrets", `sandbox: {secrets: [HF_TOKEN]}`, ""},
		{"SandboxConfig.timeout", `sandbox: {timeout: 3600}`, ""},
		{"SandboxConfig.local_files", `sandbox: {local_files: [[./local.txt, /sandbox/path.txt]]}`, ""},
		{"SandboxConfig.local_dirs", `sandbox: {local_dirs: [[./data, /workspace/data]]}`, ""},
		{"SandboxConfig.debug", `sandbox: {debug: true}`, ""},
		{"ModelConfig.name", `sandbox: {models: [{name: google/gemma-2-2b-it}]}`, ""},
		{"ModelConfig.revision", `sandbox: {models: [{name: google/gemma-2-2b-it, revision: main}]}`, ""},
		{"ModelConfig.var_name", `sandbox: {models: [{name: google/gemma-2-9b, var_name: gemma}]}`, ""},
		{"ModelConfig.hidden", `sandbox: {models: [{name: google/gemma-2-9b, hidden: true}]}`, ""},
		{"ModelConfig.is_peft", `sandbox: {models: [{name: my-org/my-adapter, is_peft: true, base_model: meta-llama/Llama-2-7b}]}`, ""},
		{"RepoConfig.url", `sandbox: {repos: [{url: "https://github.com/org/repo"}]}`, ""},
		{"RepoConfig.install", `sandbox: {repos: [{url: org/repo, install: pip install -e .}]}`, ""},
		{"serve(file, expose_as=library, name)", `serve: [{file: interface.py, expose_as: library, name: model_tools}]`, ""},
		{"serve(file, expose_as=mcp)", `serve: [{file: interface.py, expose_as: mcp}]`, ""},
		{"serve(file, expose_as=prompt)", `serve: [{file: interface.py, expose_as: prompt}]`, ""},
		{"Workspace(skills, skill_dirs, local_files, local_dirs)", `workspace: {skills: [./s], skill_dirs: [./t], files: [a.txt], dirs: [data]}`, ""},
		{"Workspace(custom_init_code, preload_models, hidden_model_loading)", `workspace: {init: import x, preload_models: false, hidden_model_loading: false}`, ""},
		{"ModelConfig.load_as_peft", `sandbox: {execution_mode: notebook, models: [{name: o/m, load_as_peft: true}]}`, ""},
		{"EnvironmentHandle.jupyter_port", `sandbox: {execution_mode: notebook, jupyter_port: 8888}`, ""},
		{"Workspace(libraries)", `workspace: {libraries: [helpers.py]}`, ""},
		{"create_local_session(workspace_dir, name)", `{name: scoped-example, workspace: {dir: ./workspace}}`, ""},
		{"run_agent(prompt=task)", `agent: {command: [run], prompt: Analyze model activations}`, ""},
		{"run_agent(provider=claude)", `agent: {provider: claude, prompt: Analyze model activations}`, ""},
		{"ExperimentConfig.name", `{name: "my-experiment", models: []}`, ""},
		{"GPUConfig.gpu_type", `gpu: {gpu_type: "A100-80GB"}`, ""},
		{"GPUConfig.gpu_count", `gpu: {gpu_type: "A100-80GB", gpu_count: 2}`, ""},
		{"GPUConfig.use_model_volumes", `gpu: {gpu_type: "A100-80GB", use_model_volumes: true}`, ""},
		{"ExperimentConfig.image", `image: {base: "nvidia/cuda:12", commands: [ls]}`, ""},
		{"ExperimentConfig.models", `models: [{name: google/gemma-2-9b-it}]`, ""},
		{"ModelConfig.device", `models: [{name: google/gemma-2-9b-it, device: "auto"}]`, ""},
		{"ModelConfig.device = cuda", `models: [{name: google/gemma-2-9b-it, device: cuda}]`, ""},
		{"ModelConfig.dtype", `models: [{name: google/gemma-2-9b-it, dtype: "bfloat16"}]`, ""},
		{"ExperimentConfig.github_repos", `github_repos: ["myorg/my-research-code"]`, ""},
	}
}

// Every field of every seed is read, or refused by name; never ignored, never
// called unknown.
func TestEveryFieldOfTheSeeds(t *testing.T) {
	for _, f := range seedFields() {
		_, err := parse(f.yaml)
		switch {
		case f.refused == "" && err != nil:
			t.Errorf("%s: %v", f.seed, err)
		case f.refused != "" && (err == nil || !strings.Contains(err.Error(), ": "+f.refused+": ") || !strings.Contains(err.Error(), "not supported by this version")):
			t.Errorf("%s: got %v", f.seed, err)
		}
	}
}

// The models of the seeds, by the names that their code uses.
func TestModelsOfTheSeeds(t *testing.T) {
	for _, c := range []struct{ seed, models, want string }{
		{"000 ModelConfig(name)", `[{name: google/gemma-2-2b-it, revision: main}]`,
			"google/gemma-2-2b-it MODEL_GOOGLE_GEMMA_2_2B_IT_PATH /models/google--gemma-2-2b-it model tokenizer"},
		{"001 ModelConfig, default var_name", `[google/gemma-2-9b, {name: my-org/my-adapter, is_peft: true, base_model: meta-llama/Llama-2-7b}]`,
			"google/gemma-2-9b MODEL_GOOGLE_GEMMA_2_9B_PATH /models/google--gemma-2-9b model tokenizer, " +
				"my-org/my-adapter MODEL_MY_ORG_MY_ADAPTER_PATH /models/my-org--my-adapter model_2 model_2_tokenizer, " +
				"meta-llama/Llama-2-7b MODEL_META_LLAMA_LLAMA_2_7B_PATH /models/meta-llama--Llama-2-7b"},
		{"001 ModelConfig(hidden, var_name)", `[{name: google/gemma-2-9b, hidden: true, var_name: target}]`,
			"google/gemma-2-9b MODEL_TARGET_PATH /models/target target target_tokenizer"},
		{"001 hidden, is_peft", `[{name: my-org/my-adapter, hidden: true, is_peft: true, base_model: meta-llama/Llama-2-7b}]`,
			"my-org/my-adapter MODEL_MODEL_PATH /models/model model tokenizer, meta-llama/Llama-2-7b MODEL_MODEL_BASE_PATH /models/model_base model_base"},
		{"002 environment variables", `[google/gemma-2-9b, meta-llama/Llama-2-7b]`,
			"google/gemma-2-9b MODEL_GOOGLE_GEMMA_2_9B_PATH /models/google--gemma-2-9b model tokenizer, " +
				"meta-llama/Llama-2-7b MODEL_META_LLAMA_LLAMA_2_7B_PATH /models/meta-llama--Llama-2-7b model_2 model_2_tokenizer"},
		{"003 device, dtype", `[{name: google/gemma-2-9b-it, device: auto, dtype: bfloat16}]`,
			"google/gemma-2-9b-it MODEL_GOOGLE_GEMMA_2_9B_IT_PATH /models/google--gemma-2-9b-it model tokenizer bfloat16"},
		{"004 two levels", `[google/gemma-2-9b]`, "google/gemma-2-9b MODEL_GOOGLE_GEMMA_2_9B_PATH /models/google--gemma-2-9b model tokenizer"},
	} {
		e, err := parse("sandbox: {execution_mode: notebook, models: " + c.models + "}")
		if err != nil {
			t.Errorf("%s: %v", c.seed, err)
			continue
		}
		var got []string
		for i, m := range e.Sandbox.Weights() {
			words := []string{m.Alias(), m.EnvName(), m.SandboxPath(), m.VarName}
			if i < len(e.Sandbox.Models) {
				words = append(words, m.TokenizerName(), m.DType, m.Device)
			}
			got = append(got, strings.TrimSpace(strings.Join(words, " ")))
		}
		if told := strings.Join(got, ", "); told != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.seed, told, c.want)
		}
	}
}

// The schema and the docs know what the parser knows.
func TestEveryFieldIsInSchemaAndDocs(t *testing.T) {
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(experiment.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	for _, path := range fieldPaths(experiment.Fields(), nil) {
		key := path[len(path)-1]
		if !strings.Contains(string(text), "| `"+key+"` |") {
			t.Errorf("%v is not in %s", path, docs)
		}
		if !inSchema(schema, path) {
			t.Errorf("%v is not in the schema", path)
		}
	}
}

func fieldPaths(fields []experiment.Field, under []string) [][]string {
	var paths [][]string
	for _, f := range fields {
		path := append(under[:len(under):len(under)], f.Key)
		paths = append(append(paths, path), fieldPaths(f.Fields, path)...)
	}
	return paths
}

// inSchema follows properties by name, through lists and alternatives.
func inSchema(schema any, path []string) bool {
	s, ok := schema.(map[string]any)
	if !ok {
		return false
	}
	if len(path) == 0 {
		return true
	}
	if properties, ok := s["properties"].(map[string]any); ok && inSchema(properties[path[0]], path[1:]) {
		return true
	}
	if items, ok := s["items"]; ok && inSchema(items, path) {
		return true
	}
	any, _ := s["anyOf"].([]any)
	for _, one := range any {
		if inSchema(one, path) {
			return true
		}
	}
	return false
}

// The file of the staged form means the same as the canonical one. Without serve it
// is about a notebook, as its seed was.
func TestStagedForm(t *testing.T) {
	staged := "name: \"my-experiment\"\ngpu:\n  gpu_type: \"A100-80GB\"\n  gpu_count: 2\n  use_model_volumes: true\nmodels:\n  - name: \"google/gemma-2-9b-it\"\n    device: \"auto\"\n"
	canonical := "name: my-experiment\nsandbox:\n  gpu: A100-80GB\n  gpu_count: 2\n  execution_mode: notebook\n  models: [google/gemma-2-9b-it]\n  volumes: [{name: seer-models, path: /model-volume, models: true}]\n"
	got, err := parse(staged)
	if err != nil {
		t.Fatal(err)
	}
	want, err := parse(canonical)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, got, want)
	if p := got.Position("sandbox.models.0.name"); p.Line != 7 || p.Path != "models.0.name" {
		t.Errorf("the place of a staged field: %+v", p)
	}
	if exp, err := parse("gpu: null\nmodels: [./m]\nserve: [{file: tools.py}]\n"); err != nil || exp.Sandbox.GPU != nil {
		t.Errorf("got %+v, %v", exp, err)
	}
}

func TestStagedFormOfTheSeedAsItStands(t *testing.T) {
	e, err := parse("name: my-experiment\ngpu:\n  gpu_type: A100-80GB\n  gpu_count: 2\n  use_model_volumes: true\nmodels:\n  - name: google/gemma-2-9b-it\n    device: auto\n    dtype: bfloat16\ngithub_repos:\n  - myorg/my-research-code\n")
	if err != nil {
		t.Fatal(err)
	}
	s := e.Sandbox
	if s.ExecutionMode != experiment.ModeNotebook || s.GPUCount != 2 || s.Models[0].DType != "bfloat16" || s.Models[0].Device != "" || s.Repos[0].Name() != "my-research-code" {
		t.Errorf("got %+v", s)
	}
}
