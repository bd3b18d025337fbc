// Command embed is a program with Seer inside: a sandbox from a provider of its own,
// a call with a token that allows nothing else, and an expose mode in Wasm that gets
// what this program grants and no more. After `make build`, in Seer's folder:
//
//	go run ./examples/embed
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/surface"
	"github.com/seer-engine/seer/sdk"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	runtime := flag.String("runtime", "bin/runtime", "the folder with Seer's runtime")
	plugins := flag.String("plugins", "bin/plugins", "the folder with the expose mode, expose-skill.wasm")
	file := flag.String("interface", "examples/embed/interface.py", "the functions to be served")
	flag.Parse()
	dir, err := os.MkdirTemp("", "embed-")
	if err == nil {
		err = errors.Join(run(ctx, os.Stdout, dir, *runtime, *plugins, *file), os.RemoveAll(dir))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "embed:", err)
		os.Exit(1)
	}
}

// grants is what this program lets plugins do. expose-skill asks for more than that.
func grants(_ context.Context, p host.Plugin) (host.Grant, error) {
	if p.Manifest.ID == "expose-skill" {
		return host.Grant{Lines: access.Make("file .claude/skills/**"), By: "embed"}, nil
	}
	return host.Grant{}, host.ErrNotGranted
}

func run(ctx context.Context, out io.Writer, dir, runtime, plugins, file string) (err error) {
	e, err := engine.New(engine.Options{
		StateDir: filepath.Join(dir, "state"), CacheDir: filepath.Join(dir, "cache"), RuntimeDir: filepath.Join(dir, "run"), DataDir: filepath.Join(dir, "data"),
		ArtifactsDir: runtime, PluginDirs: []string{plugins}, PluginAccess: grants,
		Providers: map[string]sdk.Provider{"desk": &desk{dir: filepath.Join(dir, "desk"), machines: map[string]*machine{}}},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	exp, err := experiment.Parse([]byte("sandbox: {provider: desk, timeout: 5m}"), "embed.yaml", experiment.LoadOptions{})
	if err != nil {
		return err
	}
	sandbox, err := e.Up(ctx, exp, engine.UpOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sandbox.Terminate(context.WithoutCancel(ctx)), sandbox.Close()) }()
	tools, err := sandbox.Serve(ctx, engine.ServeOptions{File: file, Name: "tools"})
	if err != nil {
		return err
	}
	if err := call(ctx, out, tools); err != nil {
		return err
	}
	if err := follow(ctx, out, tools); err != nil {
		return err
	}
	return write(ctx, out, e, tools, filepath.Join(dir, "agent"))
}

// call makes a token that may call one of the functions, and calls both.
func call(ctx context.Context, out io.Writer, tools *engine.Service) error {
	scoped, _, err := tools.NewToken(ctx, protocol.Token{Name: "agent", Functions: []string{"count"}, Calls: 10})
	if err != nil {
		return err
	}
	var n int
	if err := scoped.Call(ctx, "count", []any{"strawberry", "r"}, nil, &n); err != nil {
		return err
	}
	fmt.Fprintf(out, "count: %d\n", n)
	err = scoped.Call(ctx, "shout", []any{"strawberry"}, nil, nil)
	fmt.Fprintf(out, "shout: %v\n", err)
	return nil
}

// follow prints what a generator yields, as it comes, and lets another call go on by
// itself until somebody asks for its answer.
func follow(ctx context.Context, out io.Writer, tools *engine.Service) error {
	request := client.CallRequest{Function: "letters", Args: []any{"seer"}}
	_, err := tools.Do(ctx, request, client.CallHandler{Item: func(item client.Body) error {
		_, err := fmt.Fprintf(out, "%s ", item.JSON())
		return err
	}})
	fmt.Fprintln(out)
	if err != nil {
		return err
	}

	pending, err := tools.Submit(ctx, client.CallRequest{Function: "shout", Args: []any{"later"}})
	if err != nil {
		return err
	}
	answer, err := tools.Attach(ctx, pending.ID, 0, client.CallHandler{}).Wait(ctx) // here, or in another program
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "later: %s\n", answer.JSON())
	return nil
}

// write asks the expose mode for an agent's files, twice: in the folder that is
// granted, and in one that is not.
func write(ctx context.Context, out io.Writer, e *engine.Engine, tools *engine.Service, dir string) error {
	files, err := tools.Expose(ctx, "skill", nil)
	if err != nil {
		return err
	}
	records, err := e.SurfaceRecords() // of what may be replaced the next time
	if err != nil {
		return err
	}
	written, err := surface.Write(ctx, dir, files, surface.Target{Connection: tools.Connection(), Records: records})
	if err != nil {
		return err
	}
	name, err := filepath.Rel(dir, written.Files[0])
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "skill: %d files, first %s\n", len(written.Files), name)
	_, refused := tools.Expose(ctx, "skill", map[string]any{"dir": ".agents/skills"})
	fmt.Fprintf(out, "elsewhere: %v\n", refused)
	return nil
}
