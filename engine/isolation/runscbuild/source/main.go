//go:build ignore

// Command runsc is gVisor's, with the filters of system calls that it otherwise computes at
// every start.
package main

import (
	_ "unsafe" // for go:linkname

	"gvisor.dev/gvisor/pkg/seccomp/precompiledseccomp"
	"gvisor.dev/gvisor/runsc/boot/filter"
	"gvisor.dev/gvisor/runsc/cli/maincli"
)

// registered is what gVisor's own build fills with generated code, and its Go module leaves
// empty.
//
//go:linkname registered gvisor.dev/gvisor/runsc/boot/filter.precompiledPrograms
var registered map[string]precompiledseccomp.Program

func main() {
	filter.ListPrecompiled() // it makes the map at its first use
	register(registered)
	maincli.Main()
}
