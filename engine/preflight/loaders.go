package preflight

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/preflight/pyreq"
)

// loader is the package that loads models in a session.
const loader = "transformers"

// without are packages that do not bring the loader along, of those that stand beside it
// most often. Of any other one, only pip knows.
var without = []string{"torch", "torchvision", "torchaudio", "numpy", "scipy", "pandas", "matplotlib", "seaborn", "plotly", "scikit-learn", "einops",
	"tqdm", "accelerate", "safetensors", "tokenizers", "datasets", "huggingface-hub", "requests", "pyyaml", "jupyterlab", "ipykernel", "ipywidgets"}

// loaders finds a session whose models nothing could load, before packages are installed
// for it: it would be told at the end of the start.
func (c *check) loaders() {
	s := c.exp.Sandbox
	loads := s.ExecutionMode == experiment.ModeNotebook || s.ExecutionMode == experiment.ModeCLI
	if !loads || len(s.Models) == 0 || c.exp.Workspace.NoPreload || c.brought() {
		return
	}
	asked := s.PythonPackages[:len(s.PythonPackages)-s.Implied]
	sure := true
	for _, text := range asked {
		req, err := pyreq.Parse(text)
		if err != nil || req.Name == loader {
			return // the first is told elsewhere
		}
		sure = sure && req.URL == "" && len(req.Extras) == 0 && slices.Contains(without, req.Name)
	}
	hint := "add it to sandbox.python_packages, or set workspace.preload_models: false and load them in your own way"
	if sure {
		c.fail("sandbox.models", "models are loaded with the package `"+loader+"`, and nothing brings it", hint)
	} else {
		c.warn("sandbox.models", "models are loaded with the package `"+loader+"`, which is not in sandbox.python_packages; the start fails unless another one brings it", hint)
	}
}

// brought reports whether the loader may be there in a way that cannot be looked into: in
// an image, an installation of the experiment's own or an interpreter nobody has asked.
func (c *check) brought() bool {
	s, python := c.exp.Sandbox, c.facts.Python
	if s.Image != nil || python == nil || c.report.Python != "" || len(c.candidates) == 0 || s.Env["PYTHONPATH"] != "" {
		return true
	}
	if _, has := python.Distributions[loader]; has {
		return true
	}
	for _, p := range c.candidates {
		if !p.thisComputer() {
			return true
		}
	}
	for _, r := range s.Repos {
		if r.Install != "" {
			return true
		}
	}
	w := c.exp.Workspace
	return slices.ContainsFunc(slices.Concat(w.Libraries, w.Files, w.Dirs), func(p string) bool {
		return strings.TrimSuffix(filepath.Base(p), ".py") == loader
	})
}
