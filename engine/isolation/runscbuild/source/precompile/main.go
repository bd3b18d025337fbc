//go:build ignore

// Command precompile writes the filters of system calls of the sandboxes that Seer makes as a
// Go file: systrap, the host's files, a network of its own or the host's, with and without
// NVIDIA GPUs. gVisor computes any other one when it starts, as it always does.
package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	_ "unsafe" // for go:linkname

	"gvisor.dev/gvisor/pkg/seccomp"
	"gvisor.dev/gvisor/pkg/seccomp/precompiledseccomp"
	"gvisor.dev/gvisor/pkg/sentry/devices/nvproxy/nvconf"
	"gvisor.dev/gvisor/pkg/sentry/platform"
	_ "gvisor.dev/gvisor/pkg/sentry/platform/systrap"
	"gvisor.dev/gvisor/runsc/boot/filter/config"
)

//go:linkname rules gvisor.dev/gvisor/runsc/boot/filter/config.rules
func rules(config.Options, precompiledseccomp.Values) (allowed, denied seccomp.SyscallRules)

const head = `package main

import "gvisor.dev/gvisor/pkg/seccomp/precompiledseccomp"

func register(programs map[string]precompiledseccomp.Program) {
`

func main() {
	if err := write(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "precompile:", err)
		os.Exit(1)
	}
}

func write(w io.Writer) error {
	systrap, err := platform.Lookup("systrap")
	if err != nil {
		return err
	}
	text := head
	for _, info := range systrap.PrecompiledSeccompInfo() {
		for _, o := range options(info) {
			p, err := compile(o)
			if err != nil {
				return err
			}
			text += p.Registration("\t", "precompiledseccomp", "programs")
		}
	}
	_, err = io.WriteString(w, text+"}\n")
	return err
}

func options(info platform.SeccompInfo) (all []config.Options) {
	for _, network := range []bool{false, true} {
		for _, gpu := range []nvconf.DriverCaps{0, nvconf.CapUtility | nvconf.CapCompute} {
			all = append(all, config.Options{Platform: info, HostNetwork: network, HostFilesystem: true, NVProxy: gpu != 0, NVProxyCaps: gpu})
		}
	}
	return all
}

func compile(o config.Options) (precompiledseccomp.Program, error) {
	return precompiledseccomp.Precompile(o.ConfigKey(), slices.Collect(maps.Keys(o.Vars())), func(vars precompiledseccomp.Values) *seccomp.Program {
		allowed, denied := rules(o, vars)
		return &seccomp.Program{
			RuleSets: []seccomp.RuleSet{{Rules: denied.Copy()}, {Rules: allowed.Copy(), Action: seccomp.Allow}},
			Options:  config.SeccompOptions(o),
		}
	})
}
