package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/experiment"
)

// again saves the files of the sandbox and starts another one with them.
func again(ctx context.Context, e *engine.Engine, exp *experiment.Experiment, lab *engine.Sandbox) (err error) {
	saved, err := e.Save(ctx, lab.ID(), engine.SaveOptions{Name: "session-" + lab.ID()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, forget(ctx, e, saved.ID)) }()
	second, err := e.Up(ctx, exp, engine.UpOptions{Snapshot: saved.ID})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end(ctx, second)) }()
	result, err := second.ReadFile(ctx, "/workspace/result.txt")
	if err != nil {
		return err
	}
	fmt.Println("from the snapshot:", string(result))
	return nil
}

func forget(ctx context.Context, e *engine.Engine, id string) error {
	store, err := e.Snapshots()
	if err != nil {
		return err
	}
	return store.Remove(context.WithoutCancel(ctx), id)
}

// forks makes two copies that go on where the sandbox is, and a cell in each.
func forks(ctx context.Context, e *engine.Engine, lab *engine.Sandbox, session string) (err error) {
	copies, err := e.Fork(ctx, lab.ID(), 2, engine.ForkOptions{})
	for _, c := range copies { // some may be there beside an error
		defer func() { err = errors.Join(err, end(ctx, c)) }()
	}
	if engine.KindOf(err) == engine.KindUnsupported {
		fmt.Println("no forks:", err)
		return nil
	}
	if err != nil {
		return err
	}
	for i, c := range copies {
		nb, err := c.Notebook(ctx)
		if err != nil {
			return err
		}
		defer nb.Close()
		if err := cell(ctx, nb, session, fmt.Sprintf("print('fork', %d, answer + %d)", i, i)); err != nil {
			return err
		}
	}
	return nil
}

// back finds the sandbox by its ID, as another program would later.
func back(ctx context.Context, e *engine.Engine, lab *engine.Sandbox) error {
	if err := lab.Detach(ctx, 10*time.Minute); err != nil { // it now outlives this program
		return err
	}
	found, err := e.Open(ctx, lab.ID())
	if err != nil {
		return err
	}
	defer found.Close()
	result, err := found.ReadFile(ctx, "/workspace/result.txt")
	if err != nil {
		return err
	}
	fmt.Println("found again:", string(result))
	return nil
}
