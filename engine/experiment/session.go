package experiment

import (
	"fmt"
	"slices"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

// The ways in which an agent uses a sandbox; the empty word is a scoped one.
const (
	ModeNotebook = "notebook"
	ModeCLI      = "cli"
	ModeLocal    = "local"
)

// Whole reports whether the agent has the whole sandbox, and not only what is served.
func (s Sandbox) Whole() bool { return s.ExecutionMode == ModeNotebook || s.ExecutionMode == ModeCLI }

// Weights are the models, and after them the base models of adapters that are not
// listed themselves. Those have no variable of their own.
func (s Sandbox) Weights() []Model {
	all := slices.Clone(s.Models)
	for _, m := range s.Models {
		listed := func(other Model) bool { return other.Alias() == m.BaseModel }
		if m.BaseModel == "" || slices.ContainsFunc(all, listed) {
			continue
		}
		all = append(all, m.base())
	}
	return all
}

// Fetched are all models and datasets that the sandbox is shown: [Sandbox.Weights], and after
// them the datasets.
func (s Sandbox) Fetched() []Model {
	all := s.Weights()
	for _, d := range s.Datasets {
		all = append(all, d.model())
	}
	return all
}

// FetchedField is where the experiment names number i of [Sandbox.Fetched]. A base model that
// is not listed itself is named by its adapter.
func (e *Experiment) FetchedField(i int) string {
	all, models := e.Sandbox.Fetched(), len(e.Sandbox.Models)
	switch datasets := len(all) - len(e.Sandbox.Datasets); {
	case i >= datasets:
		return fmt.Sprintf("sandbox.datasets.%d", i-datasets)
	case i >= models:
		return e.baseField(all[i].Name)
	}
	return fmt.Sprintf("sandbox.models.%d", i)
}

// base is the model that an adapter was trained on. Of a hidden adapter it is hidden, too.
func (m Model) base() Model {
	b := Model{Name: m.BaseModel, Hidden: m.Hidden}
	if m.Hidden {
		b.VarName = m.VarName + "_base"
	}
	b.Source, _ = sourceOf(b.Name)
	b.Path = m.BasePath
	return b
}

// TokenizerName is the variable of a model's tokenizer.
func (m Model) TokenizerName() string {
	if m.VarName == "model" {
		return "tokenizer"
	}
	return m.VarName + "_tokenizer"
}

// session checks what goes with the way in which the agent uses the sandbox.
func (v *validator) session() {
	s := v.exp.Sandbox
	if s.JupyterPort != 0 && s.ExecutionMode != ModeNotebook {
		v.fail("sandbox.jupyter_port", "Jupyter needs execution_mode notebook", "set execution_mode: notebook, or remove jupyter_port")
	}
	if s.DebugPort != 0 && !s.Debug {
		v.fail("sandbox.debug_port", "VS Code needs debug: true", "set debug: true, or remove debug_port")
	}
	taken := map[int]string{}
	for i, port := range s.Ports {
		taken[port] = fmt.Sprintf("ports.%d", i)
	}
	for _, p := range []struct {
		key  string
		port int
	}{{"jupyter_port", s.JupyterPort}, {"debug_port", s.DebugPort}} {
		if other := taken[p.port]; p.port != 0 && other != "" {
			v.fail("sandbox."+p.key, fmt.Sprintf("port %d is that of %s", p.port, other), "give each its own")
		}
		taken[p.port] = p.key
	}
	v.loading()
}

// loading checks what is about models that Seer loads itself.
func (v *validator) loading() {
	s := v.exp.Sandbox
	variables := map[string]string{}
	for i, m := range s.Models {
		at := fmt.Sprintf("sandbox.models.%d", i)
		if !s.Whole() {
			v.onlyLoaded(at, m)
			continue
		}
		v.words(at, m)
		if m.IsPEFT && m.LoadAsPEFT {
			v.fail(at+".load_as_peft", "an adapter is one already", "remove one of is_peft and load_as_peft")
		}
		for _, name := range []string{m.VarName, m.TokenizerName()} {
			if other, clash := variables[name]; clash && !v.exp.Workspace.NoPreload {
				v.fail(at+".var_name", fmt.Sprintf("the variable %s is already that of %s", quote(name), quote(other)), "give each model a var_name of its own")
				break
			}
			variables[name] = m.Name
		}
	}
}

var (
	dataTypes = lazyregexp.New(`^(b?float16|float32|float64|half|float|double|float8_[a-z0-9]+)$`)
	// devices are the kinds of torch, and the names that makers of hardware gave to its privateuseone.
	devices = lazyregexp.New(`^(cpu|cuda|ipu|xpu|mkldnn|opengl|opencl|ideep|hip|ve|fpga|maia|xla|lazy|vulkan|mps|meta|hpu|mtia|` +
		`privateuseone|npu|mlu|musa|gcu|sdaa)(:\d{1,4})?$`)
)

// words refuses a dtype and a device that no torch knows.
func (v *validator) words(at string, m Model) {
	if m.DType != "" && !dataTypes().MatchString(m.DType) {
		v.fail(at+".dtype", quote(m.DType)+" is not a dtype for a model", "use auto, bfloat16, float16, float32 or float64")
	}
	if m.Device != "" && !devices().MatchString(m.Device) {
		v.fail(at+".device", quote(m.Device)+" is not a device of torch", "use auto, cpu, cuda or cuda:1")
	}
}

// onlyLoaded refuses settings that nobody would look at.
func (v *validator) onlyLoaded(at string, m Model) {
	for _, f := range []struct {
		key string
		set bool
	}{{"load_as_peft", m.LoadAsPEFT}, {"dtype", m.DType != ""}, {"device", m.Device != ""}} {
		if f.set {
			v.fail(at+"."+f.key, "Seer loads models only with execution_mode notebook or cli", "do it where the interface loads the model, or set execution_mode")
		}
	}
}
