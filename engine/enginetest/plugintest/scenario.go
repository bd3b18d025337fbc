package plugintest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// Scenario is a story for a provider of machines on hosts or clusters of the user's: what they
// answer to it, and what it makes of that. In texts that are compared, * stands for any text.
type Scenario struct {
	Name     string            `yaml:"name"`
	Settings map[string]string `yaml:"settings"` // besides those of the file
	Contexts []Context         `yaml:"contexts"` // of the kubeconfig; the first is the current one
	SSH      []SSHAnswers      `yaml:"ssh"`
	Kube     []KubeAnswers     `yaml:"kube"`
	Steps    []Step            `yaml:"steps"`
}

// Context is one of the kubeconfig.
type Context struct {
	Name      string `yaml:"name"`
	Namespace string `yaml:"namespace"`
}

// SSHAnswers is what a command on a host is answered.
type SSHAnswers struct {
	Host    string   `yaml:"host"`
	Argv    []string `yaml:"argv"`  // ** as the last stands for any further words
	Stdin   any      `yaml:"stdin"` // a text, or what its JSON must have; missing = anything
	Answers []Answer `yaml:"answers"`
}

// KubeAnswers is what a cluster answers to a request, or a command in a pod.
type KubeAnswers struct {
	Context string            `yaml:"context"`
	Method  string            `yaml:"method"`
	Path    string            `yaml:"path"`
	Query   map[string]string `yaml:"query"` // those named must be there
	Body    any               `yaml:"body"`  // as stdin of a command
	Exec    *PodCommand       `yaml:"exec"`  // instead of method and path
	Answers []Answer          `yaml:"answers"`
}

// PodCommand is a command in a pod.
type PodCommand struct {
	Namespace string   `yaml:"namespace"`
	Pod       string   `yaml:"pod"`
	Container string   `yaml:"container"`
	Argv      []string `yaml:"argv"`
	Stdin     any      `yaml:"stdin"`
}

// Answer is one answer. The first is given first, and the last again and again.
type Answer struct {
	Stdout any    `yaml:"stdout"` // a text, or a value, which is written as JSON
	Stderr string `yaml:"stderr"`
	Code   int    `yaml:"code"`

	Status  int               `yaml:"status"` // of a request; 0 = 200
	Headers map[string]string `yaml:"headers"`
	Body    any               `yaml:"body"` // as stdout

	Error *Failure `yaml:"error"` // instead: the host or the cluster gives no answer
}

// Failure is an error of the contract.
type Failure struct {
	Code    sdk.Code `yaml:"code"`
	Message string   `yaml:"message"`
}

// Step is a call of the provider and what must come of it.
type Step struct {
	Call  string   `yaml:"call"`  // of [calls]
	Input any      `yaml:"input"` // as the contract says
	Want  any      `yaml:"want"`  // what the result must have; missing = anything
	Error *Failure `yaml:"error"` // instead: the error that must come
	Times int      `yaml:"times"` // the call is made so often, each time with that result; 0 = 1
}

// calls are what a step can call, without the kind that the exports begin with.
func calls() []string {
	return []string{"describe", "offers", "create", "observe", "list", "terminate", "route"}
}

const maxTimes = 100

// check finds the first mistake of a scenario. at is where it is.
func (s Scenario) check(at string) error {
	if strings.TrimSpace(s.Name) == "" || strings.ContainsAny(s.Name, "/\n") {
		return mistake{at, "needs a name on one line and without a slash"}
	}
	if len(s.Steps) == 0 {
		return mistake{at, s.Name + " has no steps"}
	}
	for i, a := range s.SSH {
		if err := s.answers(at, fmt.Sprintf("ssh.%d", i), a.Host == "" || len(a.Argv) == 0, "host and argv", a.Answers); err != nil {
			return err
		}
	}
	for i, a := range s.Kube {
		named := a.Exec != nil && len(a.Exec.Argv) > 0 || a.Method != "" && strings.HasPrefix(a.Path, "/")
		both := a.Exec != nil && a.Method+a.Path != ""
		if err := s.answers(at, fmt.Sprintf("kube.%d", i), !named || both, "method and path, or exec with argv", a.Answers); err != nil {
			return err
		}
	}
	for i, step := range s.Steps {
		where := fmt.Sprintf("%s: steps.%d ", s.Name, i)
		switch {
		case !slices.Contains(calls(), step.Call):
			return mistake{at, fmt.Sprintf("%scalls %q, which is none of %s", where, step.Call, strings.Join(calls(), ", "))}
		case step.Times < 0 || step.Times > maxTimes:
			return mistake{at, fmt.Sprintf("%sis made %d times; the limit is %d", where, step.Times, maxTimes)}
		case step.Error != nil && step.Want != nil:
			return mistake{at, where + "wants a result and an error; leave one of them out"}
		}
		for _, v := range []any{step.Input, step.Want} {
			if _, err := json.Marshal(v); err != nil {
				return mistake{at, where + "cannot be JSON: " + err.Error()}
			}
		}
	}
	return nil
}

// answers checks what something is answered.
func (s Scenario) answers(at, entry string, incomplete bool, needs string, answers []Answer) error {
	where := fmt.Sprintf("%s: %s ", s.Name, entry)
	switch {
	case incomplete:
		return mistake{at, where + "needs " + needs}
	case len(answers) == 0:
		return mistake{at, where + "has no answers"}
	}
	for _, a := range answers {
		for _, v := range []any{a.Stdout, a.Body} {
			if _, err := json.Marshal(v); err != nil {
				return mistake{at, where + "has an answer that cannot be JSON: " + err.Error()}
			}
		}
		if a.Status != 0 && http.StatusText(a.Status) == "" {
			return mistake{at, fmt.Sprintf("%sanswers with %d, which is no status of HTTP", where, a.Status)}
		}
	}
	return nil
}
