package workspace

import (
	"fmt"
	"strings"
)

// Model is a model as the prompt tells of it.
type Model struct {
	Name      string
	VarName   string // "" = model
	Hidden    bool   // its name is not told, nor that of its base
	BaseModel string // of an adapter
	Preloaded bool   // it is in the variable before the agent starts
	PathName  string // variable of the environment with its folder: MODEL_…_PATH, which does not name a hidden one; "" = none
}

// hiddenName stands for a name that the agent is not to know.
const hiddenName = "<hidden>"

// variables are those of the model and of its tokenizer.
func (m Model) variables() (model, tokenizer string) {
	if m.VarName == "" || m.VarName == "model" {
		return "model", "tokenizer"
	}
	return m.VarName, m.VarName + "_tokenizer"
}

func (m Model) name() string {
	switch {
	case m.Hidden:
		return hiddenName
	case m.BaseModel != "":
		return m.Name + ", an adapter of " + m.BaseModel
	}
	return m.Name
}

// Dataset is a dataset as the prompt tells of it.
type Dataset struct {
	Name     string
	PathName string // variable of the environment with its folder: DATASET_…_PATH
}

// DatasetText is the part of the prompt about the datasets; "" where there are none.
func DatasetText(datasets []Dataset) string {
	if len(datasets) == 0 {
		return ""
	}
	text := "## Datasets\n\n"
	for _, d := range datasets {
		text += fmt.Sprintf("- %s: its files are in the folder that the environment variable `%s` names, read-only\n", d.Name, d.PathName)
	}
	return text
}

// ModelText is the part of the prompt about the models; "" where there are none. Only of
// models that are loaded it says that they are.
func ModelText(models []Model) string {
	var loaded, there strings.Builder
	for _, m := range models {
		model, tokenizer := m.variables()
		switch {
		case m.Preloaded:
			fmt.Fprintf(&loaded, "- `%s`: %s; its tokenizer is `%s`\n", model, m.name(), tokenizer)
		case m.PathName != "":
			fmt.Fprintf(&there, "- %s: its files are in the folder that the environment variable `%s` names\n", m.name(), m.PathName)
		default:
			fmt.Fprintf(&there, "- %s\n", m.name())
		}
	}
	if loaded.Len()+there.Len() == 0 {
		return ""
	}
	text := "## Models\n"
	if loaded.Len() > 0 {
		text += "\nThese are already loaded in Python, in the variables that are named here. Do not load them again.\n\n" + loaded.String()
	}
	if there.Len() > 0 {
		text += "\nThese are on the machine and not loaded.\n\n" + there.String()
	}
	return text
}
