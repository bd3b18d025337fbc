// Command seer-runtime is the program inside a sandbox. It is started by the
// loader, never by hand.
package main

import (
	"os"

	"github.com/seer-engine/seer/engine/python"
	"github.com/seer-engine/seer/engine/runtime"
)

func main() {
	os.Exit(runtime.Main(runtime.Worker{Files: python.Files, Entry: python.Main, Compiled: python.CompiledName()}))
}
