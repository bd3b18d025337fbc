package plan

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Lines is the plan for a person to read.
func (p Plan) Lines() []string {
	var t text
	t.line("experiment", p.Experiment)
	t.line("machine", p.machine())
	t.line("network", p.Network)
	t.line("ends", p.ends())
	t.line("cost", p.costText())
	for _, m := range p.Models {
		note := ""
		if m.Hidden {
			note = ", name hidden from the agent"
		}
		t.line("model", fmt.Sprintf("%s at %s ($%s), read-only%s", m.Name, m.Path, m.Env, note))
	}
	for _, u := range p.Uploads {
		if u.Mount {
			t.line("mount", u.Local+" at "+u.Remote+", read-only")
		} else {
			t.line("upload", u.Local+" to "+u.Remote)
		}
	}
	t.list("packages", p.Packages)
	t.list("env", p.Env)
	t.list("secrets", p.Secrets)
	t.list("ports", numbers(p.Ports))
	for _, s := range p.Services {
		t.line("serve", fmt.Sprintf("%s as %s %s", s.File, s.ExposeAs, s.Name))
	}
	t.line("workspace", p.Workspace.Dir)
	t.list("libraries", p.Workspace.Libraries)
	t.list("files", p.Workspace.Files)
	if a := p.Agent; a != nil {
		t.line("agent", fmt.Sprintf("%s, isolation %s, network %s", strings.Join(append([]string{a.Provider + ":"}, a.Command...), " "), a.Isolation, a.Network))
	}
	t.line("outputs", p.Outputs)
	for _, w := range p.Warnings {
		t.line("warning", w)
	}
	return t
}

func (p Plan) machine() string {
	parts := []string{p.Provider}
	if p.GPU != "" {
		parts = append(parts, fmt.Sprintf("%d × %s", p.GPUCount, p.GPU))
	}
	if p.Isolation != "" {
		parts = append(parts, "isolation "+p.Isolation)
	}
	return strings.Join(parts, ", ")
}

func (p Plan) ends() string {
	words := "after " + duration(p.Timeout)
	if p.IdleTimeout > 0 {
		words += ", or " + duration(p.IdleTimeout) + " without use"
	}
	return words
}

func duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second)).String()
	if short, ok := strings.CutSuffix(d, "m0s"); ok {
		d = short + "m"
	}
	if short, ok := strings.CutSuffix(d, "h0m"); ok {
		d = short + "h"
	}
	return d
}

func (p Plan) costText() string {
	switch {
	case p.CostPerHour == nil:
		return "not known before the provider is asked"
	case *p.CostPerHour == 0:
		return "none"
	default:
		return fmt.Sprintf("$%.2f an hour, at most $%.2f", *p.CostPerHour, *p.MaxCost)
	}
}

// text collects lines of a label and a value.
type text []string

func (t *text) line(label, value string) {
	*t = append(*t, fmt.Sprintf("%-11s %s", label, value))
}

func (t *text) list(label string, items []string) {
	if len(items) > 0 {
		t.line(label, strings.Join(items, ", "))
	}
}

func numbers(items []int) []string {
	words := make([]string, len(items))
	for i, n := range items {
		words[i] = strconv.Itoa(n)
	}
	return words
}
