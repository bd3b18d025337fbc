// Package environment installs what an experiment asks for on a machine whose
// provider builds no images: system packages, Python packages, commands. It works
// through the runtime, so it is the same on every backend.
package environment

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"path"
	"strings"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

// Spec is what is to be installed.
type Spec struct {
	SystemPackages []string // names for apt
	PythonPackages []string // requirements for pip
	Commands       []string // shell commands, in order, after the packages
	Cache          string   // folder on a disk that outlives the machine, for downloads; empty = none
}

// Empty reports whether there is nothing to do.
func (s Spec) Empty() bool {
	return len(s.SystemPackages)+len(s.PythonPackages)+len(s.Commands) == 0
}

// Result is what the machine's configuration must say from now on.
type Result struct {
	Python string            // the interpreter with the packages; empty = the one before
	Env    map[string]string // so that commands find it, too
}

//go:embed apt.sh
var aptScript string

//go:embed venv.sh
var venvScript string

// Install does it. What the installers print goes to log, line by line, as it comes.
// An installation that fails is an error of the code invalid with its last words;
// a machine on which it cannot be done at all, one of the code unsupported.
func Install(ctx context.Context, runtime *protocol.Client, s Spec, log func(line string)) (Result, error) {
	i := &installer{runtime: runtime, log: log}
	var result Result
	if len(s.SystemPackages) > 0 {
		if _, err := i.run(ctx, "installing system packages", aptScript, s.SystemPackages, nil); err != nil {
			return result, err
		}
	}
	if len(s.PythonPackages) > 0 {
		if err := i.python(ctx, s, &result); err != nil {
			return result, err
		}
	}
	for n, command := range s.Commands {
		what := fmt.Sprintf("image.commands.%d (%s)", n, command)
		if _, err := i.run(ctx, what, command, nil, result.Env); err != nil {
			return result, err
		}
	}
	return result, nil
}

type installer struct {
	runtime *protocol.Client
	log     func(string)
}

// python makes a virtual environment that sees the image's own packages, too.
func (i *installer) python(ctx context.Context, s Spec, result *Result) error {
	h, err := i.runtime.Health(ctx)
	if err != nil {
		return err
	}
	env := map[string]string{"SEER_BASE_PYTHON": h.Python, "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
		"PIP_ROOT_USER_ACTION": "ignore", "PIP_PROGRESS_BAR": "off"}
	if s.Cache != "" {
		env["PIP_CACHE_DIR"] = path.Join(s.Cache, "pip")
	}
	out, err := i.run(ctx, "installing Python packages", venvScript, s.PythonPackages, env)
	if err != nil {
		return err
	}
	folder, search, _ := strings.Cut(out, "\n")
	if !path.IsAbs(folder) {
		return sdk.Errorf(sdk.Internal, "the virtual environment on the machine could not be found: %q", out)
	}
	result.Python = path.Join(folder, "bin", "python")
	result.Env = map[string]string{"VIRTUAL_ENV": folder, "PATH": path.Join(folder, "bin") + ":" + strings.TrimSpace(search)}
	return nil
}

const (
	answerMark = "seer-answer: " // before what a script has to say to us
	maxLine    = 16 << 10
)

// run gives each line that a script prints to the log, and returns its answer.
func (i *installer) run(ctx context.Context, what, script string, args []string, env map[string]string) (string, error) {
	out := &lines{emit: i.log}
	spec := protocol.ProcessSpec{Argv: append([]string{"sh", "-c", script, "sh"}, args...), Env: env, Name: what}
	p, err := i.runtime.Run(ctx, spec, nil, out, out)
	out.flush()
	if err != nil {
		return "", err
	}
	switch p.ExitCode {
	case 0:
		return strings.Join(out.answers, "\n"), nil
	case cannot:
		return "", sdk.Errorf(sdk.Unsupported, "%s: %s", what, out.last)
	default:
		return "", sdk.Errorf(sdk.Invalid, "%s failed with exit code %d: %s", what, p.ExitCode, out.said())
	}
}

// cannot is the scripts' exit code for a machine that lacks the means.
const cannot = 90

// lines cuts output into lines. A carriage return, as progress bars use it, ends a
// line as well.
type lines struct {
	emit    func(string)
	partial []byte
	answers []string // the lines with answerMark
	last    string   // that was not empty
	errors  []string // that name the cause, as pip and apt do
}

func (l *lines) Write(p []byte) (int, error) {
	l.partial = append(l.partial, p...)
	for {
		n := bytes.IndexAny(l.partial, "\r\n")
		if n < 0 && len(l.partial) < maxLine {
			return len(p), nil
		}
		if n < 0 {
			n = len(l.partial) - 1
		}
		line := string(l.partial[:n])
		l.partial = append(l.partial[:0], l.partial[n+1:]...)
		l.line(line)
	}
}

func (l *lines) flush() {
	if len(l.partial) > 0 {
		l.line(string(l.partial))
		l.partial = nil
	}
}

func (l *lines) line(text string) {
	text = strings.TrimRight(text, " \t")
	if answer, ok := strings.CutPrefix(text, answerMark); ok {
		l.answers = append(l.answers, answer)
		return
	}
	if text == "" {
		return
	}
	l.last = text
	if strings.HasPrefix(text, "ERROR: ") || strings.HasPrefix(text, "E: ") {
		l.errors = append(l.errors, text)
	}
	if l.emit != nil {
		l.emit(text)
	}
}

// said is what the installer gave as the reason.
func (l *lines) said() string {
	if len(l.errors) == 0 {
		return l.last
	}
	const most = 3
	return strings.Join(l.errors[max(0, len(l.errors)-most):], "; ")
}
