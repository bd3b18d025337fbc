// Command seer-runtime is the program inside a sandbox. It is started by the
// loader, never by hand.
package main

import (
	"os"

	"github.com/seer-engine/seer/engine/runtime"
	"github.com/seer-engine/seer/engine/runtime/worker"
)

func main() { os.Exit(runtime.Main(worker.Files, worker.Main)) }
