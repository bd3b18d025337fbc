package engine_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/protocol"
)

// Provision a sandbox, serve a Python file in it, call a function, terminate.
func Example() {
	dir, _ := os.MkdirTemp("", "seer-example-")
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "interface.py")
	_ = os.WriteFile(file, []byte("@expose\ndef add(a: int, b: int) -> int:\n    return a + b\n"), 0o644)

	ctx := context.Background()
	e, err := engine.New(engine.Options{StateDir: dir, RuntimeDir: dir, ArtifactsDir: installed.Runtime})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	exp, err := experiment.Parse([]byte("sandbox: {network: none}"), filepath.Join(dir, "seer.yaml"), experiment.LoadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	sandbox, err := e.Up(ctx, exp, engine.UpOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer sandbox.Terminate(ctx)
	tools, err := sandbox.Serve(ctx, engine.ServeOptions{File: file})
	if err != nil {
		log.Fatal(err)
	}
	var sum int
	if err := tools.Call(ctx, "add", []any{2, 3}, nil, &sum); err != nil {
		log.Fatal(err)
	}
	fmt.Println(sum)
	// Output: 5
}

// Files of a sandbox: write, list, and be told of changes.
func ExampleSandbox_Watch() {
	dir, _ := os.MkdirTemp("", "seer-example-")
	defer os.RemoveAll(dir)
	ctx := context.Background()
	e, err := engine.New(engine.Options{StateDir: dir, RuntimeDir: dir, ArtifactsDir: installed.Runtime})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	exp, err := experiment.Parse([]byte("sandbox: {network: none}"), filepath.Join(dir, "seer.yaml"), experiment.LoadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	sandbox, err := e.Up(ctx, exp, engine.UpOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer sandbox.Terminate(ctx)
	if err := sandbox.EnsureDir(ctx, "/workspace/data"); err != nil {
		log.Fatal(err)
	}
	for event, err := range sandbox.Watch(ctx, "/workspace/data", false) {
		if err != nil {
			log.Fatal(err)
		}
		if event.Type == protocol.WatchReady {
			if err := sandbox.WriteFile(ctx, "/workspace/data/a.txt", []byte("one\n"), 0o644); err != nil {
				log.Fatal(err)
			}
		} else if event.Path == "/workspace/data/a.txt" {
			break
		}
	}
	entries, err := sandbox.List(ctx, "/workspace/data")
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range entries {
		fmt.Println(e.Name, e.Type, e.Size)
	}
	_, err = sandbox.List(ctx, "/workspace/none")
	fmt.Println(engine.KindOf(err))
	// Output:
	// a.txt file 4
	// not_found
}

// readme is what docs/tour.md shows. It is compiled and not run.
//
//nolint:ineffassign,staticcheck // a reader knows what to do with errors
func readme(ctx context.Context) error {
	exp, err := experiment.Load(ctx, "seer.yaml", experiment.LoadOptions{})
	e, err := engine.New(engine.Options{ArtifactsDir: "seer/bin/runtime", PluginDirs: []string{"seer/bin/plugins"}})
	sandbox, err := e.Up(ctx, exp, engine.UpOptions{})
	defer sandbox.Terminate(ctx)
	tools, err := sandbox.Serve(ctx, engine.ServeOptions{File: "interface.py", Name: "model_tools"})
	var norm float64
	err = tools.Call(ctx, "norm", []any{3}, map[string]any{"order": 2}, &norm)
	return err
}

var _ = readme
