// Command seer-runtime is the program inside a sandbox. It is started by the
// loader, never by hand. As `seer-runtime netproxy` it is the network proxy outside of one, as
// `seer-runtime search` it looks for names in one, and as `seer-runtime watchdog DIR` it
// ends the machines of a user whose time is over. On a host that is reached by SSH,
// `seer-runtime provider METHOD` is the provider of its machines and `seer-runtime pipe` the
// way to them; in a pod, `seer-runtime pipe TARGET...` is the way to these targets alone.
// `seer-runtime forward DIR` carries ports of both to where the user is.
package main

import (
	"context"
	"os"

	// Slim images have no certificates, and the runtime downloads models.
	_ "golang.org/x/crypto/x509roots/fallback"

	"github.com/seer-engine/seer/engine/batchjob"
	"github.com/seer-engine/seer/engine/forward"
	"github.com/seer-engine/seer/engine/machine/local/watchdog"
	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/engine/netproxy"
	"github.com/seer-engine/seer/engine/pipe"
	"github.com/seer-engine/seer/engine/python"
	"github.com/seer-engine/seer/engine/runtime"
	"github.com/seer-engine/seer/engine/sshhost"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "netproxy" {
		os.Exit(netproxy.Main(os.Stdin, os.Stderr))
	}
	if len(os.Args) == 2 && os.Args[1] == "search" {
		os.Exit(namesearch.Main(context.Background(), os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) == 3 && os.Args[1] == "watchdog" {
		os.Exit(watchdog.Main(os.Args[2], os.Stdout, os.Stderr))
	}
	if len(os.Args) > 3 && os.Args[1] == "job" {
		os.Exit(batchjob.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) == 3 && os.Args[1] == "provider" {
		os.Exit(sshhost.ProviderMain(os.Args[2], os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) == 2 && os.Args[1] == "pipe" {
		os.Exit(sshhost.PipeMain(os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) > 2 && os.Args[1] == "pipe" {
		os.Exit(pipe.TargetsMain(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) == 3 && os.Args[1] == "forward" {
		os.Exit(forward.Main(os.Args[2], os.Stdout, os.Stderr))
	}
	os.Exit(runtime.Main(runtime.Worker{Files: python.Files, Entry: python.Main, Compiled: python.CompiledName()}))
}
