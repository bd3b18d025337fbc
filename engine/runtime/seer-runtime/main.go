// Command seer-runtime is the program inside a sandbox. It is started by the
// loader, never by hand. As `seer-runtime gate` it is the gate outside of one.
package main

import (
	"os"

	"github.com/seer-engine/seer/engine/gate"
	"github.com/seer-engine/seer/engine/python"
	"github.com/seer-engine/seer/engine/runtime"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "gate" {
		os.Exit(gate.Main(os.Stdin, os.Stderr))
	}
	os.Exit(runtime.Main(runtime.Worker{Files: python.Files, Entry: python.Main, Compiled: python.CompiledName()}))
}
