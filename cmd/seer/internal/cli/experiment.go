package cli

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/experiment"
)

// LoadExperiment reads an experiment. The plugins of this program are from then on
// those of the seer.lock beside it.
func (a *App) LoadExperiment(ctx context.Context, file string, set []string) (*experiment.Experiment, error) {
	if file == "" {
		return nil, Usagef("the name of the experiment FILE is empty; seer init writes one, seer.yaml")
	}
	a.LockDir = filepath.Dir(file)
	exp, err := experiment.Load(ctx, file, experiment.LoadOptions{Set: set, Partial: true})
	if err == nil && len(exp.Mistakes()) > 0 {
		return nil, a.allMistakes(ctx, exp)
	}
	return exp, err
}

// allMistakes are all that can be found in an experiment that has some already, so that nobody
// mends a file in two rounds.
func (a *App) allMistakes(ctx context.Context, exp *experiment.Experiment) error {
	e, err := a.Engine()
	if err != nil {
		return exp.Mistakes()
	}
	report, err := e.Check(ctx, exp, engine.CheckOptions{Unguarded: true, Offline: true})
	if err != nil {
		return exp.Mistakes()
	}
	return report.Err()
}

// AddSet adds the flags that override fields of the experiment.
func AddSet(c *cobra.Command, set *[]string) {
	c.Flags().Var(&overrides{to: set}, "set", "override a field: `KEY=VALUE`, as in sandbox.timeout=2h; may be repeated")
	c.Flags().Var(&overrides{to: set, text: true}, "set-string", "override a field with literal text instead of YAML: `KEY=TEXT`; may be repeated")
}

// overrides are the values of --set and --set-string, in the order in which they were given.
type overrides struct {
	to   *[]string
	text bool // the value is a text as it is
}

// Set implements [pflag.Value].
func (o *overrides) Set(assignment string) error {
	if key, text, ok := strings.Cut(assignment, "="); ok && o.text {
		if !utf8.ValidString(text) {
			return errors.New("the text is not UTF-8")
		}
		quoted, err := json.Marshal(text) // YAML reads it, too
		if err != nil {
			return err
		}
		assignment = key + "=" + string(quoted)
	}
	*o.to = append(*o.to, assignment)
	return nil
}

// String implements [pflag.Value].
func (o *overrides) String() string { return "" }

// Type implements [pflag.Value].
func (o *overrides) Type() string { return "stringArray" }

// AddUnguarded adds the flag for providers that cannot end their machines.
func AddUnguarded(c *cobra.Command, o *engine.CheckOptions) {
	c.Flags().BoolVar(&o.Unguarded, "unguarded", false, "allow a provider that cannot end its machines by itself: if seer\ndies, such a machine costs money until you end it")
}

// AddWait adds the flags for machines that are not free yet.
func AddWait(c *cobra.Command, o *engine.CheckOptions) {
	c.Flags().Var(maxWaitFlag{o}, "max-wait", "wait for a machine or GPU that fits for at most this `duration`, such as 90m\n(default: sandbox.max_wait of the experiment)")
	f := c.Flags().VarPF(waitFlag{o}, "wait", "", "wait without a limit until a machine or GPU that fits is free; starts that wait\nfor this computer's GPUs get them in the order of their requests")
	f.NoOptDefVal = "true"
}

// forever is longer than anybody waits.
const forever = 100 * 365 * 24 * time.Hour

// waitFlag is --wait: a wait without an end, unless --max-wait gives one.
type waitFlag struct{ o *engine.CheckOptions }

// Set implements [pflag.Value].
func (f waitFlag) Set(text string) error {
	on, err := strconv.ParseBool(text)
	switch {
	case err != nil:
		return errors.New("it is true or false")
	case on && f.o.MaxWait == 0:
		f.o.MaxWait = forever
	case !on:
		f.o.MaxWait = 0
	}
	return nil
}

// String implements [pflag.Value].
func (f waitFlag) String() string { return "" }

// Type implements [pflag.Value].
func (f waitFlag) Type() string { return "bool" }

// maxWaitFlag is --max-wait.
type maxWaitFlag struct{ o *engine.CheckOptions }

// Set implements [pflag.Value].
func (f maxWaitFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return errors.New("write a time above zero, such as 90s, 30m or 2h")
	}
	f.o.MaxWait = d
	return nil
}

// String implements [pflag.Value].
func (f maxWaitFlag) String() string { return "" }

// Type implements [pflag.Value].
func (f maxWaitFlag) Type() string { return "duration" }

// CompleteExperiment offers YAML files as the first argument.
func CompleteExperiment(_ *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}
