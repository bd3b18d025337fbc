package plugintest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/sdk"
)

// pretended are the hosts and clusters of a scenario. It notes what it was asked.
type pretended struct {
	s Scenario

	mu    sync.Mutex
	given map[string]int // entry → how many answers it has given
	wrong []string       // what no entry answers
	hosts []string
	used  []sdk.KubeContext
}

// take finds the entry that answers, and its next answer.
func (p *pretended) take(what string, entries int, name string, fit func(i int) bool, answers func(i int) []Answer) (Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range entries {
		if !fit(i) {
			continue
		}
		entry := fmt.Sprintf("%s.%d", name, i)
		all := answers(i)
		n := p.given[entry]
		p.given[entry]++
		a := all[min(n, len(all)-1)]
		if a.Error != nil {
			return a, sdk.Errorf(a.Error.Code, "%s", a.Error.Message)
		}
		return a, nil
	}
	p.wrong = append(p.wrong, what)
	return Answer{}, sdk.Errorf(sdk.Internal, "the scenario does not answer %s", what)
}

// Run implements [host.SSH].
func (p *pretended) Run(ctx context.Context, name string, argv []string, stdin io.Reader) (host.SSHResult, error) {
	sent, err := readInput(ctx, stdin)
	if err != nil {
		return host.SSHResult{}, err
	}
	what := fmt.Sprintf("the command %q on %s with the standard input %.300q", argv, name, sent)
	a, err := p.take(what, len(p.s.SSH), "ssh", func(i int) bool {
		e := p.s.SSH[i]
		return fits(e.Host, name) && fitAll(e.Argv, argv) && fitsInput(e.Stdin, sent)
	}, func(i int) []Answer { return p.s.SSH[i].Answers })
	return a.result(), err
}

// Used implements [host.SSHHosts].
func (p *pretended) Used(_, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hosts = append(p.hosts, name)
	return nil
}

// Of implements [host.SSHHosts].
func (p *pretended) Of(string) ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	hosts := append([]string{}, p.hosts...)
	slices.Sort(hosts)
	return slices.Compact(hosts), nil
}

// clusters is what a scenario pretends as a [host.Kube].
type clusters struct{ *pretended }

// Do implements [host.Kube].
func (c clusters) Do(ctx context.Context, contextName string, r sdk.KubeRequest, body io.Reader) (*http.Response, error) {
	sent, err := readInput(ctx, body)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("%s %s of the context %s with the query %v and the body %.300q", r.Method, r.Path, contextName, r.Query, sent)
	a, err := c.take(what, len(c.s.Kube), "kube", func(i int) bool {
		e := c.s.Kube[i]
		if e.Exec != nil || !fits(orAny(e.Context), contextName) || e.Method != r.Method || !fits(e.Path, r.Path) || !fitsInput(e.Body, sent) {
			return false
		}
		for name, form := range e.Query {
			if !fits(form, strings.Join(r.Query[name], ",")) {
				return false
			}
		}
		return true
	}, func(i int) []Answer { return c.s.Kube[i].Answers })
	if err != nil {
		return nil, err
	}
	if a.Status == 0 {
		a.Status = http.StatusOK
	}
	header := http.Header{"Content-Type": {"application/json"}}
	for name, value := range a.Headers {
		header.Set(name, value)
	}
	return &http.Response{StatusCode: a.Status, Header: header, Body: io.NopCloser(strings.NewReader(textOf(a.Body)))}, nil
}

// Exec implements [host.Kube].
func (c clusters) Exec(ctx context.Context, contextName string, in sdk.KubeExec, stdin io.Reader) (host.KubeResult, error) {
	sent, err := readInput(ctx, stdin)
	if err != nil {
		return host.KubeResult{}, err
	}
	what := fmt.Sprintf("the command %q in %s/%s of the context %s", in.Argv, in.Namespace, in.Pod, contextName)
	a, err := c.take(what, len(c.s.Kube), "kube", func(i int) bool {
		e := c.s.Kube[i].Exec
		return e != nil && fits(orAny(c.s.Kube[i].Context), contextName) && fits(orAny(e.Namespace), in.Namespace) && fits(orAny(e.Pod), in.Pod) &&
			fits(orAny(e.Container), in.Container) && fitAll(e.Argv, in.Argv) && fitsInput(e.Stdin, sent)
	}, func(i int) []Answer { return c.s.Kube[i].Answers })
	return a.result(), err
}

// Context implements [host.Kube].
func (c clusters) Context(_ context.Context, name string) (sdk.KubeContext, error) {
	if len(c.s.Contexts) == 0 {
		return sdk.KubeContext{}, sdk.Errorf(sdk.NotFound, "the scenario has no contexts")
	}
	for _, one := range c.s.Contexts {
		if name == "" || one.Name == name {
			return sdk.KubeContext{Name: one.Name, Namespace: one.Namespace}, nil
		}
	}
	return sdk.KubeContext{}, sdk.Errorf(sdk.Invalid, "the scenario has no context %s", name)
}

// usedContexts is what a scenario remembers as a [host.KubeContexts].
type usedContexts struct{ *pretended }

// Used implements [host.KubeContexts].
func (u usedContexts) Used(_ string, c sdk.KubeContext) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !slices.Contains(u.used, c) {
		u.used = append(u.used, c)
	}
	return nil
}

// Unused implements [host.KubeContexts].
func (u usedContexts) Unused(_ string, c sdk.KubeContext) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.used = slices.DeleteFunc(u.used, func(one sdk.KubeContext) bool { return one == c })
	return nil
}

// Of implements [host.KubeContexts].
func (u usedContexts) Of(string) ([]sdk.KubeContext, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.used), nil
}

// orAny is a form, or that of any text where there is none.
func orAny(form string) string {
	if form == "" {
		return "*"
	}
	return form
}

func (a Answer) result() host.SSHResult {
	return host.SSHResult{Stdout: []byte(textOf(a.Stdout)), Stderr: []byte(a.Stderr), Code: a.Code}
}

// readInput reads what a plugin sends, until the call is given up.
func readInput(ctx context.Context, r io.Reader) ([]byte, error) {
	if r == nil {
		return nil, ctx.Err()
	}
	var b bytes.Buffer
	_, err := b.ReadFrom(r)
	return b.Bytes(), err
}

// mistakes are what was asked in vain, and what was not asked.
func (p *pretended) mistakes() []string {
	out := p.unanswered()
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, n := range map[string]int{"ssh": len(p.s.SSH), "kube": len(p.s.Kube)} {
		for i := range n {
			if entry := fmt.Sprintf("%s.%d", name, i); p.given[entry] == 0 {
				out = append(out, entry+" was not asked; leave it out, or let a step lead to it")
			}
		}
	}
	slices.Sort(out)
	return out
}
