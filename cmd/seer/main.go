// Command seer gives AI agents research environments: sandboxes with models, and
// functions in them that the agent may call. docs/cli.md describes it.
package main

import (
	"context"
	"os"
)

// version is set by the linker; see the Makefile.
var version = "dev"

func main() {
	keepInherited()
	os.Exit(newApp(os.Stdin, os.Stdout, os.Stderr).run(context.Background(), os.Args[1:]))
}
