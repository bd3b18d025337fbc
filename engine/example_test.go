package engine_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/experiment"
)

// Provision a sandbox, serve a Python file in it, call a function, terminate.
func Example() {
	dir, _ := os.MkdirTemp("", "seer-example-")
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "interface.py")
	_ = os.WriteFile(file, []byte("@expose\ndef add(a: int, b: int) -> int:\n    return a + b\n"), 0o644)

	ctx := context.Background()
	e, err := engine.New(engine.Options{StateDir: dir, RuntimeDir: dir, ArtifactsDir: artifacts.Runtime})
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
