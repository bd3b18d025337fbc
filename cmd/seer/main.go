// Command seer gives AI agents research environments: sandboxes with models, and
// functions in them that the agent may call. docs/cli.md describes it.
package main

import (
	"context"
	"os"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine/agent/inside"
)

// version is set by the linker; see the Makefile.
var version = "dev"

// builtins are the digests of the plugins that come with seer, id=sha256:…,…, set by
// the linker; see scripts/builtins.
var builtins string

func main() {
	if len(os.Args) > 1 && os.Args[1] == inside.Command { // before anything that takes signals
		os.Exit(inside.Main(os.Args[2:]))
	}
	keepInherited()
	os.Exit(cli.New(os.Stdin, os.Stdout, os.Stderr, cli.Build{Version: version, Builtins: builtins}).Run(context.Background(), os.Args[1:], newRoot))
}
