package ssh_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/seer-engine/seer/plugins/internal/bare"
	"github.com/seer-engine/seer/plugins/provider-ssh/ssh"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/guestssh"
)

// lab is a number of hosts in memory, each with the methods that it answers.
type lab struct {
	hosts map[string]map[string]func(raw []byte) (any, error)
	usual string // the setting

	mu   sync.Mutex
	used []string
	ran  []string // host and method, in any order
}

func (l *lab) provider() *ssh.Provider {
	return &ssh.Provider{Hosts: bare.Hosts{Runner: l, Settings: func() (map[string]string, error) { return map[string]string{"hosts": l.usual}, nil }}}
}

func (l *lab) Hosts() ([]string, error) { return l.used, nil }

func (l *lab) Run(_ context.Context, host string, argv []string, stdin []byte) (guestssh.Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(argv) != 3 || argv[0] != sdk.SSHProgram || argv[1] != "provider" {
		return guestssh.Result{Code: 127, Stderr: "no such command\n"}, nil
	}
	l.ran = append(l.ran, host+" "+argv[2])
	methods, ok := l.hosts[host]
	if !ok {
		return guestssh.Result{}, sdk.Errorf(sdk.Unavailable, "the host %s cannot be reached: it does not answer", host)
	}
	method := methods[argv[2]]
	if method == nil {
		return guestssh.Result{Code: 1, Stderr: "first\nit broke\n"}, nil
	}
	out, err := method(stdin)
	e := sdk.Envelope{}
	if err != nil {
		e.Error = sdk.Errorf(sdk.CodeOf(err), "%v", err)
	} else if e.OK, err = json.Marshal(out); err != nil {
		return guestssh.Result{}, err
	}
	answer, err := json.Marshal(e)
	return guestssh.Result{Stdout: answer}, err
}

// told is what was run since the last call, sorted.
func (l *lab) told() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	ran := slices.Sorted(slices.Values(l.ran))
	l.ran = nil
	return ran
}

// answers is a method that gives the same for any input.
func answers(out any) func([]byte) (any, error) {
	return func([]byte) (any, error) { return out, nil }
}

// input is what a method was asked.
func input[In any](t *testing.T, raw []byte) (in In) {
	t.Helper()
	if err := json.Unmarshal(raw, &in); err != nil {
		t.Errorf("%s: %v", raw, err)
	}
	return in
}

// host is one with usual answers, some of them replaced.
func host(more map[string]func([]byte) (any, error)) map[string]func([]byte) (any, error) {
	methods := map[string]func([]byte) (any, error){
		"offers":    answers([]sdk.Offer{{ID: "local", Region: "linux/amd64", Stock: sdk.StockHigh}}),
		"list":      answers([]sdk.Listed{}),
		"create":    answers(sdk.CreateStep{Handle: "m1"}),
		"terminate": answers(struct{}{}),
		"describe":  answers(sdk.ProviderInfo{Isolations: []sdk.Isolation{{Name: "bubblewrap", Usable: true}, {Name: "none", Usable: true}}}),
	}
	maps.Copy(methods, more)
	return methods
}
