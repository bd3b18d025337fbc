package main

import (
	"context"
	"fmt"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/workspace"
)

// work begins a notebook, runs a cell in it, and returns the session.
func work(ctx context.Context, lab *engine.Sandbox) (string, error) {
	nb, err := lab.Notebook(ctx)
	if err != nil {
		return "", err
	}
	defer nb.Close()
	session, _, err := nb.StartSession(ctx, notebook.NewSession{Mode: notebook.New, Name: "first"})
	if err != nil {
		return "", err
	}
	return session.ID, cell(ctx, nb, session.ID, "answer += 1\nopen('result.txt', 'w').write(str(answer))\nprint(answer)")
}

// cell adds a cell, runs it, and prints its outputs while they come.
func cell(ctx context.Context, nb *notebook.Client, session, code string) error {
	run, err := nb.AddCell(ctx, session, notebook.NewCell{Type: "code", Source: code, Run: true})
	if err != nil {
		return err
	}
	for event, err := range nb.Events(ctx, run.Execution.ID, 0) {
		switch {
		case err != nil:
			return err
		case event.Type == notebook.EventOutput:
			fmt.Print(event.Output.Text)
		case event.Type == notebook.EventEnd && event.Execution.State != notebook.Done:
			return fmt.Errorf("the cell: %s", event.Execution.State)
		}
	}
	return nil
}

// bring makes a session with a library, and uses that in a new kernel.
func bring(ctx context.Context, lab *engine.Sandbox) error {
	code := workspace.Made("helpers.py", []byte("def twice(x): return 2 * x\n"))
	helpers, err := workspace.LibraryFromFiles("helpers", []workspace.File{code}, "")
	if err != nil {
		return err
	}
	opened, err := lab.NewSession(ctx, engine.SessionOptions{
		Contents: workspace.Workspace{Libraries: []workspace.Library{helpers}, Init: "import helpers"},
	})
	if err != nil {
		return err
	}
	fmt.Println("session:", opened.Name)
	nb, err := lab.Notebook(ctx)
	if err != nil {
		return err
	}
	defer nb.Close()
	session, _, err := nb.StartSession(ctx, notebook.NewSession{Mode: notebook.New})
	if err != nil {
		return err
	}
	return cell(ctx, nb, session.ID, "print(helpers.twice(22))")
}
