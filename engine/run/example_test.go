package run_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/run"
	"github.com/seer-engine/seer/engine/runs"
)

// Run an agent in a folder, follow it, and read the record of its run.
func ExampleAgent() {
	dir, _ := os.MkdirTemp("", "seer-example-")
	defer os.RemoveAll(dir)
	lab := filepath.Join(dir, "lab")
	_ = os.Mkdir(lab, 0o755)
	e, err := engine.New(engine.Options{StateDir: dir, RuntimeDir: dir, ArtifactsDir: installed.Runtime})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	if err := agent(context.Background(), e, lab); err != nil {
		log.Fatal(err)
	}
	// Output:
	// it says: Do it.
	// finished with 0, on the language model: $0.00
}

func agent(ctx context.Context, e *engine.Engine, dir string) error {
	result, err := run.Agent(ctx, e, run.AgentOptions{
		Agent: &experiment.Agent{
			Provider: "command", Command: []string{"sh", "-c", `echo "it says: $(cat $SEER_PROMPT)"`},
			Task: "Do it.", Isolation: "auto", Network: "none",
		},
		Dir: dir, Runs: filepath.Join(filepath.Dir(dir), "runs"),
		Progress: func(e engine.Event) {
			if d, ok := e.Data.(event.Output); ok && e.Stage() == event.StageAgent {
				fmt.Println(d.Line)
			}
		},
	})
	if err != nil {
		return err // an agent that failed is none: see result.ExitCode
	}
	kept, err := runs.Open(result.Folder)
	if err != nil {
		return err
	}
	fmt.Printf("%s with %d, on the language model: $%.2f\n", kept.State, result.ExitCode, result.ModelCost)
	return nil
}
