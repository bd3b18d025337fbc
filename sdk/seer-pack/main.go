// Command seer-pack makes Seer plugins.
//
//	seer-pack OUT FOLDER…          builds Go plugins (main package and plugin.yaml in each folder)
//	seer-pack -wasm FILE -manifest FILE OUT   packs a .wasm made with another language
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/seer-engine/seer/sdk/pack"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "seer-pack:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("seer-pack", flag.ContinueOnError)
	wasm := flags.String("wasm", "", "a compiled plugin")
	manifest := flags.String("manifest", pack.ManifestFile, "its manifest")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case *wasm != "" && flags.NArg() == 1:
		path, err := pack.Files(*wasm, *manifest, flags.Arg(0))
		return report(path, err)
	case *wasm == "" && flags.NArg() > 1:
		for _, src := range flags.Args()[1:] {
			path, err := pack.Go(ctx, src, flags.Arg(0))
			if err := report(path, err); err != nil {
				return err
			}
		}
		return nil
	default:
		return errors.New("usage: seer-pack OUT FOLDER… | seer-pack -wasm FILE -manifest FILE OUT")
	}
}

func report(path string, err error) error {
	if err == nil {
		fmt.Println(path)
	}
	return err
}
