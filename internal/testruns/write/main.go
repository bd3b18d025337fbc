// Command write makes the pages and Inspect logs of sample runs for the scripts in e2e: in the
// folder that it is given, sample.html, sample.eval, long.html, hostile.html and others.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/seer-engine/seer/engine/runs"
	"github.com/seer-engine/seer/engine/runs/inspectlog"
	"github.com/seer-engine/seer/engine/runs/report"
	"github.com/seer-engine/seer/internal/testruns"
)

func main() {
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(to string) error {
	samples := map[string]func(root string) (*runs.Run, error){
		"sample": testruns.Sample, "hostile": testruns.Hostile, "empty": testruns.Empty, "interrupted": testruns.Interrupted,
		"stopped": testruns.Stopped, "failed": testruns.Failed,
		"long": func(root string) (*runs.Run, error) { return testruns.Long(root, 5000) },
	}
	for name, make := range samples {
		run, err := make(filepath.Join(to, name+"-runs"))
		if err != nil {
			return err
		}
		if err := file(filepath.Join(to, name+".html"), run, report.Write); err != nil {
			return err
		}
		if err := file(filepath.Join(to, name+".eval"), run, inspectlog.Write); err != nil {
			return err
		}
	}
	return nil
}

func file(path string, run *runs.Run, write func(io.Writer, *runs.Run) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f, run); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
