package experiment_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/internal/testkit"
)

func modelsOf(t *testing.T, text string) []experiment.Model {
	t.Helper()
	e, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return e.Sandbox.Weights()
}

func TestPatternsOfModels(t *testing.T) {
	m := modelsOf(t, `sandbox: {models: [{name: org/m, include: ["*.json", weights/], exclude: ["old*"]}]}`)[0]
	if ref := m.Ref(); !ref.Wants("a/b.json") || !ref.Wants("weights/x") || ref.Wants("old.json") || ref.Wants("x.bin") {
		t.Errorf("%+v", ref)
	}
	testkit.WantErrors(t, func(text string) error {
		return mistakesOf("sandbox: {models: [" + text + "]}")
	}, map[string]string{
		`{name: ./m, include: ["*"]}`:      "sandbox.models.0.include: a folder is used as it is",
		`{name: org/m, exclude: [""]}`:     "sandbox.models.0.exclude.0: the text is empty",
		`{name: org/m, include: [a, /b]}`:  "sandbox.models.0.include.1: `/b` matches no file",
		`{name: org/m, include: [a/../b]}`: "sandbox.models.0.include.0: `a/../b` matches no file",
		`{name: org/m, include: "*.json"}`: "expected a list",
	})
}

// Revisions of one model lie side by side, each under its own names.
func TestRevisionsSideBySide(t *testing.T) {
	var got []string
	for _, m := range modelsOf(t, `sandbox: {models: [org/m, {name: org/m, revision: v1.0}, {name: org/m, revision: refs/pr/1}, {name: org/x, revision: v1}]}`) {
		got = append(got, m.Alias()+" "+m.EnvName()+" "+m.SandboxPath()+" "+m.VarName)
	}
	want := []string{
		"org/m MODEL_ORG_M_PATH /models/org--m model", "org/m@v1.0 MODEL_ORG_M_V1_0_PATH /models/org--m-v1.0 model_2",
		"org/m@refs/pr/1 MODEL_ORG_M_REFS_PR_1_PATH /models/org--m-refs--pr--1 model_3", "org/x MODEL_ORG_X_PATH /models/org--x model_4",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	all := modelsOf(t, `sandbox: {models: [{name: org/m, revision: v1}, {name: org/m, revision: v2}, {name: org/a, is_peft: true, base_model: org/m@v1}]}`)
	if len(all) != 3 {
		t.Errorf("a base model that is listed is there twice: %+v", all)
	}
}

// Two names that give one variable or one folder are found at the line of the second.
func TestNamesThatClash(t *testing.T) {
	testkit.WantErrors(t, mistakesOf, map[string]string{
		"sandbox:\n  models: [org/m-1]\n  env: {MODEL_ORG_M_1_PATH: x}\n":                                               "e.yaml:3: sandbox.env.MODEL_ORG_M_1_PATH: the variable is set by the model `org/m-1`",
		"sandbox:\n  models: [org/m-1]\n  secrets:\n    - MODEL_ORG_M_1_PATH\n":                                         "e.yaml:4: sandbox.secrets.0: the variable is set by the model `org/m-1`",
		"sandbox:\n  models:\n    - org/m-1\n    - org/m_1\n":                                                           "e.yaml:4: sandbox.models.1: `org/m-1` and `org/m_1` would both be MODEL_ORG_M_1_PATH",
		"sandbox:\n  models:\n    - org/m\n    - org/M\n":                                                               "e.yaml:4: sandbox.models.1: `org/m` and `org/M` would both be MODEL_ORG_M_PATH",
		"sandbox:\n  models:\n    - {name: org/m, revision: v1}\n    - {name: org/m, revision: v1}\n":                   "e.yaml:4: sandbox.models.1.name: `org/m@v1` and `org/m@v1` would both be MODEL_ORG_M_V1_PATH",
		"sandbox:\n  models:\n    - org/base-1\n    - name: org/a\n      is_peft: true\n      base_model: org/base_1\n": "e.yaml:6: sandbox.models.1.base_model: `org/base-1` and `org/base_1` would both be MODEL_ORG_BASE_1_PATH",
		"sandbox:\n  models:\n    - {name: org/a, is_peft: true, base_model: a/b/c}\n":                                  "e.yaml:3: sandbox.models.0.base_model: `a/b/c` is not a model",
	})
}

func TestDatasets(t *testing.T) {
	e, err := parse(`sandbox: {models: [org/m], datasets: [org/set, {name: org/other, revision: v1, include: ["train/"]}, ./data, "index:x/y", {name: org/other, revision: v2}]}`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range e.Sandbox.Fetched()[1:] {
		got = append(got, strings.Join([]string{d.Alias(), d.Ref().Source, d.Ref().Name, d.EnvName(), d.SandboxPath()}, " "))
	}
	want := []string{
		"org/set hub datasets/org/set DATASET_ORG_SET_PATH /datasets/org--set",
		"org/other@v1 hub datasets/org/other DATASET_ORG_OTHER_V1_PATH /datasets/org--other-v1",
		"./data folder /lab/intro/data DATASET_DATA_PATH /datasets/data",
		"index:x/y index x/y DATASET_X_Y_PATH /datasets/x--y",
		"org/other@v2 hub datasets/org/other DATASET_ORG_OTHER_V2_PATH /datasets/org--other-v2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if ref := e.Sandbox.Fetched()[2].Ref(); !ref.Wants("train/x") || ref.Wants("test/x") {
		t.Errorf("%+v", ref)
	}
	if at := e.FetchedField(2); at != "sandbox.datasets.1" {
		t.Errorf("the second dataset is at %s", at)
	}
	testkit.WantErrors(t, mistakesOf, map[string]string{
		"sandbox:\n  datasets:\n    - org/a-b\n    - org/a_b\n":           "e.yaml:4: sandbox.datasets.1: `org/a-b` and `org/a_b` would both be DATASET_ORG_A_B_PATH",
		"sandbox:\n  datasets: [datasets/org/a]\n":                        "e.yaml:2: sandbox.datasets.0: `datasets/org/a` is not a dataset; leave out `datasets/`",
		"sandbox:\n  datasets: [a/b/c]\n":                                 "e.yaml:2: sandbox.datasets.0: `a/b/c` is not a dataset",
		"sandbox:\n  datasets: [{name: ./a, revision: x}]\n":              "e.yaml:2: sandbox.datasets.0.revision: a folder has no revisions",
		"sandbox:\n  datasets: [org/a]\n  env: {DATASET_ORG_A_PATH: x}\n": "e.yaml:3: sandbox.env.DATASET_ORG_A_PATH: the variable is set by the dataset `org/a`",
		"sandbox:\n  local_files:\n    - [./x, /datasets/x]\n":            "e.yaml:3: sandbox.local_files.0.1: `/datasets/x` is not free",
		"sandbox:\n  datasets: [{name: org/a, hidden: true}]\n":           "e.yaml:2: sandbox.datasets.0: unknown key `hidden`",
	})
}
