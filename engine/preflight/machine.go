package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/gpu"
)

const (
	localProvider = "local"
	gpuProvider   = "modal" // where a GPU that this computer lacks is looked for first
)

// Candidates are the providers that an experiment may be run on, in order: those
// it names or else the local one, and modal for a GPU that this computer lacks.
// infos are those known so far, at least the local one's.
func Candidates(exp *experiment.Experiment, infos []sdk.ProviderInfo) []string {
	if len(exp.Sandbox.Providers) > 0 {
		return exp.Sandbox.Providers
	}
	if len(exp.Sandbox.GPU) == 0 {
		return []string{localProvider}
	}
	for _, want := range exp.Sandbox.GPU {
		for _, info := range infos {
			if info.Name == localProvider && pickGPU(info, want) {
				return []string{localProvider}
			}
		}
	}
	return []string{gpuProvider}
}

func pickGPU(info sdk.ProviderInfo, want string) bool {
	return slices.ContainsFunc(info.GPUs, func(have string) bool { return gpu.Match(want, have) })
}

// provider finds out who rents the machine.
func (c *check) provider() {
	name := ""
	if len(c.exp.Sandbox.Providers) > 0 {
		name = c.exp.Sandbox.Providers[0]
	}
	if name == "" {
		name = localProvider
		if local, ok := c.providerNamed(name); ok && len(c.exp.Sandbox.GPU) > 0 && c.pickGPU(local) == "" {
			name = gpuProvider
		}
	}
	info, ok := c.providerNamed(name)
	if ok {
		c.report.Provider = info
		return
	}
	var known []string
	for _, p := range c.facts.Providers {
		known = append(known, p.Name)
	}
	if len(c.exp.Sandbox.Providers) == 0 && name == gpuProvider {
		c.fail("sandbox.gpu", fmt.Sprintf("this computer has no %s, and the provider `%s` is not installed", strings.Join(c.exp.Sandbox.GPU, " or "), name),
			"remove gpu to run on the CPU; "+c.plugins(known))
		return
	}
	c.fail("sandbox.provider", fmt.Sprintf("there is no provider `%s`", name), c.plugins(known))
}

func (c *check) providerNamed(name string) (sdk.ProviderInfo, bool) {
	for _, p := range c.facts.Providers {
		if p.Name == name {
			return p, true
		}
	}
	return sdk.ProviderInfo{}, false
}

func (c *check) pickGPU(info sdk.ProviderInfo) string {
	for _, want := range c.exp.Sandbox.GPU {
		for _, have := range info.GPUs {
			if strings.EqualFold(want, have) {
				return have
			}
		}
	}
	return ""
}

// gpu checks that the provider has what is asked for.
func (c *check) gpu() {
	info := c.report.Provider
	if info.Name == "" || len(c.exp.Sandbox.GPU) == 0 {
		return
	}
	c.report.GPU = c.pickGPU(info)
	switch {
	case c.report.GPU != "":
	case len(info.GPUs) == 0:
		c.fail("sandbox.gpu", fmt.Sprintf("provider `%s` has no GPU: not supported by this version", info.Name), "remove gpu to run on the CPU")
	default:
		c.fail("sandbox.gpu", fmt.Sprintf("provider `%s` has no %s", info.Name, strings.Join(c.exp.Sandbox.GPU, " or ")),
			"it has "+strings.Join(info.GPUs, ", "))
	}
}

// isolation settles how the sandbox is kept apart.
func (c *check) isolation() {
	info := c.report.Provider
	if info.Name == "" {
		return
	}
	asked := c.exp.Sandbox.Isolation
	if len(info.Isolations) == 0 {
		if asked != "auto" {
			c.fail("sandbox.isolation", fmt.Sprintf("provider `%s` has its own isolation", info.Name), "remove the key")
		}
		return
	}
	c.report.Isolation = c.settle("sandbox.isolation", asked, info.Isolations, "the sandbox")
	if c.report.Isolation == "none" && c.exp.Sandbox.Network == "none" {
		c.fail("sandbox.network", "the sandbox cannot be kept off the network without isolation", "set network: open, or install bubblewrap")
	}
}

// settle picks an isolation: the best usable for auto, else exactly the one
// that was asked for. What is weaker is never put in its place.
func (c *check) settle(path, asked string, choices []sdk.Isolation, what string) string {
	var names, reasons []string
	for _, i := range choices {
		names = append(names, i.Name)
		if !i.Usable {
			reasons = append(reasons, i.Name+": "+i.Reason)
		}
		switch {
		case i.Usable && i.Name == asked:
			return asked
		case i.Usable && asked == "auto":
			if i.Name == "none" {
				c.warn(path, what+" will not be kept apart from this computer", strings.Join(reasons, "; "))
			}
			return i.Name
		case i.Name == asked:
			c.fail(path, fmt.Sprintf("`%s` does not work here: %s", asked, i.Reason), "")
			return ""
		}
	}
	if asked == "auto" {
		c.fail(path, "no isolation works here", strings.Join(reasons, "; "))
	} else {
		c.fail(path, fmt.Sprintf("`%s` is not known here", asked), "use auto or "+strings.Join(names, ", "))
	}
	return ""
}

// ports checks that a machine on this computer can have its ports.
func (c *check) ports() {
	if c.facts.PortFree == nil || !c.report.Provider.Has(sdk.FeatureHostMounts) {
		return
	}
	for i, port := range c.exp.Sandbox.Ports {
		if err := c.facts.PortFree(port); err != nil {
			c.fail(fmt.Sprintf("sandbox.ports.%d", i), fmt.Sprintf("port %d is not free on this computer: %v", port, err), "choose another, or end the program that has it")
		}
	}
}
