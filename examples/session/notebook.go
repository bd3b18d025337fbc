package main

import (
	"context"
	"fmt"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/notebook"
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
