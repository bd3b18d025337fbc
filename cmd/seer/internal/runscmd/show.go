package runscmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/runs"
	"github.com/seer-engine/seer/engine/sanitize"
)

func newShow(a app) *cobra.Command {
	var transcript bool
	c := &cobra.Command{
		Use: "show [ID] [--transcript]", Short: "Show a run",
		Long: `Show a run: what it was, what it was made of, its calls by function, what it used, and
its files with their digests. --transcript adds what the agent said and did; each tool
call is one line there, and --json has all of it. Name the run by its ID, by an
unambiguous beginning of the ID, by its folder or by latest, which is the default.`,
		Example:           "  seer runs show latest\n  seer runs show run-3f20 --transcript\n  seer runs show theirs/runs/probe-20260102-120000-abcdef --json",
		Args:              cli.Args(0, 1, "the ID of a run"),
		ValidArgsFunction: a.complete(1),
		RunE: a.with(func(_ *cobra.Command, all []*runs.Run) error {
			d, failure := detailsOf(all[0], transcript)
			return errors.Join(failure, a.Print(d, func(w io.Writer) error { return showText(w, d, transcript) }))
		}),
	}
	c.Flags().BoolVar(&transcript, "transcript", false, "also what the agent said and did")
	return c
}

// details are everything about a run.
type details struct {
	runs.Summary
	Provenance runs.Provenance     `json:"provenance"`
	Functions  []runs.Function     `json:"functions"`
	Artifacts  []event.RunArtifact `json:"artifacts"`
	Transcript []runs.Item         `json:"transcript,omitempty"`
}

// detailsOf reads them. The error says what could not be read; the rest comes with it.
func detailsOf(r *runs.Run, transcript bool) (details, error) {
	d := details{Summary: r.Summary, Artifacts: r.Artifacts(), Provenance: r.Provenance()}
	calls, errCalls := r.Calls()
	d.Functions = runs.ByFunction(calls)
	if d.Summary.Calls == 0 { // of a run without an end
		d.Summary.Calls = len(calls)
	}
	var errItems error
	if transcript {
		d.Transcript, errItems = r.Transcript()
	}
	return d, errors.Join(errCalls, errItems)
}

// printer prints the lines of a page.
type printer struct{ w io.Writer }

func (p printer) line(label, format string, args ...any) {
	fmt.Fprintf(p.w, "%-11s %s\n", label, sanitize.Line(fmt.Sprintf(format, args...)))
}

// known is line for a text that may be empty.
func (p printer) known(label, text string) {
	if text != "" {
		p.line(label, "%s", text)
	}
}

func showText(w io.Writer, d details, transcript bool) error {
	p := printer{w}
	s := d.Summary
	p.line("id", "%s", s.ID)
	p.line("experiment", "%s", strings.TrimSpace(s.Experiment+"  "+s.File))
	state := string(s.State)
	if s.ExitCode != nil {
		state += fmt.Sprintf(" (exit code %d)", *s.ExitCode)
	}
	p.line("state", "%s", state)
	p.known("error", s.Error)
	p.line("started", "%s, %s", term.Clock(s.Started), ago(s.Started))
	p.line("time", "%s", span(s.Seconds))
	p.line("folder", "%s", s.Dir)
	if s.Lost > 0 || s.Faults > 0 {
		p.line("log", "%s missing, %s cannot be read", term.Plural(s.Lost, "event"), term.Plural(s.Faults, "line"))
	}
	p.made(d)
	p.used(s)
	p.functions(d)
	p.artifacts(d.Artifacts)
	if transcript {
		fmt.Fprintln(w)
		transcriptText(w, d.Transcript)
	}
	return nil
}

// made says what the run was made of.
func (p printer) made(d details) {
	s := d.Summary
	p.known("sandbox", s.Sandbox)
	p.known("seer", strings.TrimSpace(s.Version+"  "+digest(s.SHA256)))
	if s.Provider != "" || s.Program != "" {
		p.line("agent", "%s", strings.Join(strings.Fields(agentText(s)+" "+s.ProgramVersion), " "))
		p.known("program", strings.TrimSpace(s.Program+"  "+digest(s.ProgramSHA256)))
	}
	for _, x := range d.Provenance.Plugins {
		p.line("plugin", "%s %s  %s", x.ID, x.Version, digest(x.SHA256))
	}
	for _, m := range d.Provenance.Models {
		label := "model"
		if m.Dataset {
			label = "dataset"
		}
		p.line(label, "%s", strings.TrimSpace(cmp.Or(m.Name, "(hidden)")+"  "+m.Source+" "+m.Revision))
	}
	for _, c := range d.Provenance.Services {
		p.line("code", "%s  %s", c.Name, c.CodeHash)
	}
	for _, x := range d.Provenance.Packages {
		p.line("packages", "%d in %s, Python %s; --json lists them", len(x.Packages), x.Sandbox, x.Python)
	}
}

// used says what the run cost.
func (p printer) used(s runs.Summary) {
	p.line("cost", "%s: sandbox $%.2f, language model $%.4f%s", dollars(s.Cost+s.ModelCost, s.Unpriced), s.Cost, s.ModelCost, unpriced(s))
	if s.Requests > 0 {
		text := fmt.Sprintf("%s; tokens: %d in, %d out, %d read from the cache, %d written to it", term.Plural(s.Requests, "request"), s.Input, s.Output, s.CacheRead, s.CacheWrite)
		if s.Estimated {
			text += " (partly estimated)"
		}
		p.line("usage", "%s", text)
	}
}

func unpriced(s runs.Summary) string {
	if s.Unpriced {
		return " and what has no known price"
	}
	return ""
}

func (p printer) functions(d details) {
	p.line("calls", "%d", d.Summary.Calls)
	if len(d.Functions) == 0 {
		return
	}
	var rows [][]string
	for _, f := range d.Functions {
		var states []string
		for _, state := range slices.Sorted(maps.Keys(f.States)) {
			states = append(states, fmt.Sprintf("%d %s", f.States[state], state))
		}
		rows = append(rows, []string{"  " + f.Name, fmt.Sprint(f.Calls), fmt.Sprintf("%.2fs", f.Seconds), fmt.Sprintf("%.2fs", f.Longest), strings.Join(states, ", ")})
	}
	_ = term.PrintTable(p.w, 0, []term.Column{{Title: "  FUNCTION"}, {Title: "CALLS"}, {Title: "TIME"}, {Title: "LONGEST"}, {Title: "STATES"}}, rows) // the stream keeps its error
}

func (p printer) artifacts(all []event.RunArtifact) {
	if len(all) == 0 {
		return
	}
	p.line("artifacts", "%d", len(all))
	var rows [][]string
	for _, a := range all {
		rows = append(rows, []string{"  " + a.Path, a.Kind, term.Size(a.Bytes), a.SHA256})
	}
	_ = term.PrintTable(p.w, 0, []term.Column{{Title: "  PATH"}, {Title: "KIND"}, {Title: "SIZE"}, {Title: "SHA-256"}}, rows)
}

func digest(sha256 string) string {
	if sha256 == "" {
		return ""
	}
	return "sha256:" + sha256
}
