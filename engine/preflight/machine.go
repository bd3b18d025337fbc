package preflight

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/gpu"
)

const localProvider = "local"

// Candidates are the providers that an experiment may be run on, in order: those
// it names or else the local one, and for a GPU that this computer lacks the one of
// gpuProviders. There is none where gpuProviders leave a choice. infos are those known so
// far, at least the local one's.
func Candidates(exp *experiment.Experiment, infos []sdk.ProviderInfo, gpuProviders []string) []string {
	if len(exp.Sandbox.Providers) > 0 {
		return exp.Sandbox.Providers
	}
	if len(exp.Sandbox.GPU) == 0 {
		return []string{localProvider}
	}
	for _, want := range exp.Sandbox.GPU {
		for _, info := range infos {
			if info.Name == localProvider && lists(info, want) {
				return []string{localProvider}
			}
		}
	}
	if len(gpuProviders) == 1 {
		return gpuProviders
	}
	return nil
}

// lists reports whether a provider says by itself that it has a GPU.
func lists(info sdk.ProviderInfo, want string) bool {
	return slices.ContainsFunc(info.GPUs, func(have string) bool { return gpu.Match(want, have) })
}

// MayHave reports whether a provider may have one of the GPUs that an experiment names, or
// a machine without a GPU where it names none. Nobody is asked for that.
func MayHave(exp *experiment.Experiment, info sdk.ProviderInfo) bool {
	wants := exp.Sandbox.GPU
	return len(wants) == 0 || slices.ContainsFunc(wants, func(want string) bool {
		return lists(info, want) || len(info.GPUs) == 0 && len(gpu.Mistaken(want)) == 0
	})
}

// gpus looks for mistaken names of GPUs, with any provider.
func (c machineCheck) gpus() {
	for i, want := range c.exp.Sandbox.GPU {
		near := gpu.Mistaken(want)
		if len(near) == 0 || slices.ContainsFunc(c.facts.Providers, func(p sdk.ProviderInfo) bool { return lists(p, want) }) {
			c.wants = append(c.wants, want)
			continue
		}
		at := "sandbox.gpu"
		if len(c.exp.Sandbox.GPU) > 1 {
			at = fmt.Sprintf("%s.%d", at, i)
		}
		c.fail(at, "there is no GPU `"+want+"`", "did you mean `"+strings.Join(near, "`, `")+"`?")
	}
}

// candidate is a provider that may rent the machine.
type candidate struct {
	sdk.ProviderInfo
	at        string // where the experiment names it
	isolation string // of the sandbox there
}

// thisComputer reports whether its machines are on this computer.
func (p candidate) thisComputer() bool { return p.Has(sdk.FeatureHostMounts) }

// namedProviders finds out who may rent the machine, where the experiment says it.
func (c machineCheck) namedProviders() {
	if len(c.exp.Sandbox.Providers) > 0 {
		c.providers()
	}
}

// providers finds out who may rent the machine.
func (c machineCheck) providers() {
	named, names := len(c.exp.Sandbox.Providers), c.facts.Candidates(c.exp)
	if len(names) == 0 && len(c.wants) > 0 { // those that are mistakes are said already
		noGPUProvider(c)
	}
	for i, name := range names {
		at := "sandbox.provider"
		if named > 1 {
			at = fmt.Sprintf("%s.%d", at, i)
		}
		if err := c.facts.Policy.Provider(name); err != nil {
			c.fail(at, err.Error(), "")
			continue
		}
		if info, ok := c.providerNamed(name); ok {
			c.candidates = append(c.candidates, &candidate{ProviderInfo: info, at: at})
			continue
		}
		if named == 0 && name != localProvider {
			if len(c.wants) > 0 { // else it is said already
				c.fail("sandbox.gpu", fmt.Sprintf("this computer has no %s, and the provider `%s` is not installed", strings.Join(c.exp.Sandbox.GPU, " or "), name),
					"leave gpu empty (null) to run on the CPU; "+c.plugins("", c.known()))
			}
			continue
		}
		c.fail(at, fmt.Sprintf("there is no provider `%s`", name), c.plugins(name, c.known()))
	}
	if len(c.candidates) > 0 {
		c.report.Provider = c.candidates[0].ProviderInfo
	}
	checkOptions(c)
}

// noGPUProvider says why nobody is asked for a GPU that this computer lacks.
func noGPUProvider(c machineCheck) {
	lacks, several := "this computer has no "+strings.Join(c.exp.Sandbox.GPU, " or "), c.facts.GPUProviders
	if len(several) > 0 {
		c.fail("sandbox.gpu", lacks+", and several providers are for GPUs: "+strings.Join(several, ", "),
			"name one of them in provider, or in providers.default_gpu of your configuration")
		return
	}
	c.fail("sandbox.gpu", lacks+", and no installed provider is for GPUs", "name one in provider, or leave gpu empty (null) to run on the CPU; "+c.plugins("", c.known()))
}

// checkOptions checks for whom provider_options are. Where an override has named the provider, the
// file may have those of others.
func checkOptions(c machineCheck) {
	s := c.exp.Sandbox
	usual := append([]string{localProvider}, c.facts.GPUProviders...)
	for name := range s.ProviderOptions {
		at := "sandbox.provider_options." + name
		if _, ok := c.providerNamed(name); !ok {
			c.fail(at, fmt.Sprintf("there is no provider `%s`", name), c.plugins(name, c.known()))
		} else if len(s.Providers) == 0 && !slices.Contains(usual, name) && c.exp.Position("sandbox.provider").Set == "" {
			c.fail(at, "`"+name+"` is not a provider of this experiment", "use "+strings.Join(usual, " or ")+", or name it under provider")
		}
	}
}

func (c machineCheck) known() []string {
	var names []string
	for _, p := range c.facts.Providers {
		names = append(names, p.Name)
	}
	return names
}

func (c machineCheck) providerNamed(name string) (sdk.ProviderInfo, bool) {
	for _, p := range c.facts.Providers {
		if p.Name == name {
			return p, true
		}
	}
	return sdk.ProviderInfo{}, false
}

// isolation settles how the sandbox is kept apart, at each provider.
func (c machineCheck) isolation() {
	asked, network := c.exp.Sandbox.Isolation, c.exp.Sandbox.Network
	for _, p := range c.candidates {
		c.hostNetwork(p)
		if len(p.Isolations) == 0 {
			if c.exp.Sandbox.Nested {
				c.fail("sandbox.nested_sandbox", fmt.Sprintf("provider `%s` has its own isolation", p.Name), "remove the key")
			}
			if asked != "auto" {
				c.fail("sandbox.isolation", fmt.Sprintf("provider `%s` has its own isolation", p.Name), "remove the key")
			}
			switch closes := p.Has(sdk.FeatureNoNetwork); {
			case network == "none" && closes, network == "open", network == "host":
			case closes:
				c.fail("sandbox.network", fmt.Sprintf("provider `%s` cannot limit the sandbox to a list of hosts", p.Name), "set network: none or open, or use another provider")
			case network == "hosts":
				c.fail("sandbox.network", fmt.Sprintf("provider `%s` cannot limit the sandbox to a list of hosts", p.Name), "set network: open, or use another provider")
			default:
				c.fail("sandbox.network", fmt.Sprintf("provider `%s` cannot keep the sandbox off the network", p.Name), "set network: open, or use another provider")
			}
			continue
		}
		p.isolation = c.pickIsolation("sandbox.isolation", c.able(asked, p), p.Isolations, "the sandbox")
		if p.thisComputer() {
			c.nested("sandbox.nested_sandbox", c.exp.Sandbox.Nested, p.isolation)
		}
		if p.isolation == "none" && network == "none" {
			c.fail("sandbox.network", "the sandbox cannot be kept off the network without isolation", "set network: open, or remove isolation: none")
		}
	}
	c.proxyOnly()
	if len(c.candidates) > 0 {
		c.report.Isolation = c.candidates[0].isolation
	}
}

// hostNetwork refuses what only a machine on this computer can have, and what the administrator
// of this computer does not allow to those.
func (c machineCheck) hostNetwork(p *candidate) {
	if p.thisComputer() {
		if err := c.facts.Policy.Network(c.exp.Sandbox.Network, c.exp.Sandbox.NetworkHosts); err != nil {
			c.fail("sandbox.network", err.Error(), "")
		}
		return
	}
	if c.exp.Sandbox.Network == "host" {
		c.fail("sandbox.network", fmt.Sprintf("`host` is the network of this computer, and provider `%s` rents another one", p.Name), "set network: open, or provider: local")
	}
	if len(c.exp.Sandbox.HostPorts) > 0 {
		c.fail("sandbox.host_ports", fmt.Sprintf("they are ports of this computer, and provider `%s` rents another one", p.Name), "remove the key, or set provider: local")
	}
}

// proxyOnly warns of an open network that nothing connects here.
func (c machineCheck) proxyOnly() {
	here := func(p *candidate) bool { return p.thisComputer() && p.isolation != "none" && p.isolation != "" }
	if c.facts.ProxyOnly != "" && c.exp.Sandbox.Network == "open" && slices.ContainsFunc(c.candidates, here) {
		c.warn("sandbox.network", c.facts.ProxyOnly, "")
	}
}

// able is auto in the place of which stands what alone can do what the experiment asks
// of the system, where it works.
func (c machineCheck) able(asked string, p *candidate) string {
	works := func(i sdk.Isolation) bool { return i.Name == "gvisor" && i.Usable }
	if asked == "auto" && changesSystem(c.exp.Sandbox) && slices.ContainsFunc(p.Isolations, works) {
		return "gvisor"
	}
	return asked
}

// pickIsolation picks an isolation: the best usable for auto, else exactly the one
// that was asked for. What is weaker is never put in its place.
func (c *check) pickIsolation(path, asked string, choices []sdk.Isolation, what string) string {
	var names, reasons []string
	var missing []remedy.Remedy
	for _, i := range choices {
		names = append(names, i.Name)
		if !i.Usable {
			reasons = append(reasons, i.Name+": "+i.Reason)
			missing = remedy.Add(missing, install(i)...)
		}
		switch {
		case i.Usable && i.Name == asked:
			return asked
		case i.Usable && asked == "auto":
			if i.Name == "none" {
				c.warn(path, what+" will not be kept apart from this computer", strings.Join(reasons, "; "), missing...)
			}
			return i.Name
		case i.Name == asked:
			c.fail(path, fmt.Sprintf("`%s` does not work here: %s", asked, i.Reason), "", install(i)...)
			return ""
		}
	}
	if asked == "auto" {
		c.fail(path, "no isolation works here", strings.Join(reasons, "; "), missing...)
	} else {
		c.fail(path, fmt.Sprintf("`%s` is not known here", asked), "use auto or "+strings.Join(names, ", "))
	}
	return ""
}

// install is the remedy for an isolation of this computer whose program is not there.
func install(i sdk.Isolation) []remedy.Remedy {
	if !i.Missing {
		return nil
	}
	return []remedy.Remedy{{Action: remedy.FixHost}}
}

// ports checks that a machine on this computer can have its ports.
func (c machineCheck) ports() {
	if c.facts.PortFree == nil || !slices.ContainsFunc(c.candidates, func(p *candidate) bool { return p.thisComputer() }) {
		return
	}
	for at, port := range map[string]int{"jupyter_port": c.exp.Sandbox.JupyterPort, "debug_port": c.exp.Sandbox.DebugPort} {
		if port == 0 {
			continue
		}
		if err := c.facts.PortFree(port); err != nil {
			c.fail("sandbox."+at, fmt.Sprintf("port %d is not free on this computer: %v", port, err), "choose another, leave it out for one that is free, or end the program that has it")
		}
	}
	// With a network of its own, what is taken is another one outside.
	moves := c.exp.Sandbox.Network != "host" && !slices.ContainsFunc(c.candidates, func(p *candidate) bool {
		return p.thisComputer() && (p.isolation == "none" || p.isolation == "")
	})
	for i, port := range c.exp.Sandbox.Ports {
		if err := c.facts.PortFree(port); err != nil && (!moves || !errors.Is(err, syscall.EADDRINUSE)) {
			c.fail(fmt.Sprintf("sandbox.ports.%d", i), fmt.Sprintf("port %d is not free on this computer: %v", port, err), "choose another, or end the program that has it")
		}
	}
}
