package callcmd

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/sanitize"
	"github.com/seer-engine/seer/engine/surface"
)

func newServe(a app) *cobra.Command {
	var f serveFlags
	var pairs []string
	c := &cobra.Command{
		Use:   "serve ID FILE [--as MODE] [--name NAME] [--out DIR] [--option KEY=VALUE]… [--watch]",
		Short: "Serve the functions of a Python file to an agent",
		Long: `Load FILE in a worker of the sandbox, and write the files with which an agent calls its
@expose functions to DIR:

  library   a Python module NAME, which needs only the standard library
  mcp       mcp.json, with a server that any MCP client can start
  prompt    NAME.md, which explains how to call the functions
  skill     .claude/skills/NAME, an agent skill that contains the library

Plugins add further modes. Each mode also writes prompt.md, a few lines for the agent's
prompt. The files contain a token that can call these functions and nothing else. Seer
replaces an existing file only if seer serve wrote it and nobody has changed it since;
otherwise it writes nothing.

If NAME is served already, the new version replaces it as soon as it has loaded. Files
that were written for the old version continue to work.

With --watch, Seer serves the file again whenever it changes, until Ctrl-C. If only
functions have changed, and no code at the top of the file depends on them, the worker
replaces them and keeps its models. Otherwise it loads the file again and says why. If
the file does not load, the old version stays.

--option corresponds to an entry of the interface's options: in an experiment. The value
is JSON, or else plain text.`,
		Example: `  seer serve lab interface.py --as library --name model_tools --out workspace
  (cd workspace && python3 -c 'import model_tools; print(model_tools.get_model_info())')
  seer serve lab interface.py --as mcp --name model_tools --out .
  seer serve lab interface.py --as skill --option dir=.agents/skills
  seer serve lab interface.py --name model_tools --out workspace --watch`,
		Args: cli.Args(2, 2, "a sandbox and the interface FILE"),
		RunE: func(cmd *cobra.Command, given []string) error {
			var err error
			if f.options, err = exposeOptions(pairs); err != nil {
				return err
			}
			return a.serve(cmd.Context(), f, given[0], given[1])
		},
		ValidArgsFunction: a.CompleteSandboxThenFile,
	}
	c.Flags().StringVar(&f.mode, "as", "library", "how the agent gets the functions: library, mcp, prompt, skill, or a\nplugin's `MODE`")
	c.Flags().StringVar(&f.name, "name", "", "the `NAME` of the module, server and service (default: the file's)")
	c.Flags().StringVar(&f.out, "out", ".", "the `DIR` to write to")
	c.Flags().StringArrayVar(&pairs, "option", nil, "an option of the mode: `KEY=VALUE`, as in dir=.agents/skills; may be repeated")
	c.Flags().BoolVarP(&f.watch, "watch", "w", false, "keep running, and serve the file again when it changes")
	_ = c.RegisterFlagCompletionFunc("as", a.CompleteMode)
	return c
}

// served is the result of serve.
type served struct {
	Sandbox   string   `json:"sandbox"`
	Service   string   `json:"service"`
	Mode      string   `json:"mode"`
	Functions []string `json:"functions"`
	surface.Written
}

type serveFlags struct {
	mode, name, out string
	options         map[string]any
	watch           bool
}

// exposeOptions reads KEY=VALUE. A value that is JSON is kept as it is written.
func exposeOptions(pairs []string) (map[string]any, error) {
	options := map[string]any{}
	for _, pair := range pairs {
		key, text, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, cli.Usagef("--option %s is not KEY=VALUE", pair)
		}
		if _, twice := options[key]; twice {
			return nil, cli.Usagef("--option %s is given twice", key)
		}
		options[key] = text
		if json.Valid([]byte(text)) {
			options[key] = json.RawMessage(text)
		}
	}
	return options, nil
}

func (a app) serve(ctx context.Context, f serveFlags, ref, file string) error {
	abs, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	a.LockDir = filepath.Dir(file)
	s, err := a.Open(ctx, ref)
	if err != nil {
		return err
	}
	defer s.Close()
	w := &watcher{app: a, file: abs}
	if data, err := os.ReadFile(abs); err == nil { // that it cannot be read, serving tells
		w.lastSum = sha256.Sum256(data)
	}
	service, written, err := a.serveOnce(ctx, s, f, abs, false)
	if err != nil {
		return err
	}
	if err := a.printServed(s, service, f, written); err != nil || !f.watch {
		return err
	}
	w.served = service.Interface()
	w.serve = func(ctx context.Context) (*engine.Service, error) {
		v, _, err := a.serveOnce(ctx, s, f, abs, true)
		return v, err
	}
	return w.run(ctx)
}

// serveOnce serves the file and writes what the agent needs.
func (a app) serveOnce(ctx context.Context, s *engine.Sandbox, f serveFlags, file string, again bool) (*engine.Service, surface.Written, error) {
	v, err := s.Serve(ctx, engine.ServeOptions{File: file, Name: f.name, ExposeAs: f.mode, InPlace: again, Progress: a.UI.Progress})
	if err != nil {
		return nil, surface.Written{}, (&experiment.Experiment{}).Explain(err) // whose file nobody named here
	}
	made, err := v.Expose(ctx, f.mode, f.options)
	if err != nil {
		return nil, surface.Written{}, err
	}
	e, err := a.Engine()
	if err != nil {
		return nil, surface.Written{}, err
	}
	records, err := e.SurfaceRecords()
	if err != nil {
		return nil, surface.Written{}, err
	}
	written, err := cli.WriteSurface(ctx, f.out, made, v, records)
	return v, written, err
}

func (a app) printServed(s *engine.Sandbox, service *engine.Service, f serveFlags, written surface.Written) error {
	result := served{Sandbox: s.ID(), Service: service.Name(), Mode: f.mode, Written: written, Functions: functionNames(service)}
	return a.Print(result, func(w io.Writer) error {
		a.UI.Tell("Serving %s: %s", result.Service, strings.Join(result.Functions, ", "))
		for _, f := range written.Files {
			if _, err := fmt.Fprintln(w, sanitize.Line(f)); err != nil {
				return err
			}
		}
		for _, name := range slices.Sorted(maps.Keys(written.Env)) {
			a.UI.Tell("The agent needs %s=%s", name, written.Env[name])
		}
		return nil
	})
}
