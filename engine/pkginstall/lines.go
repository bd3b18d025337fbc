package pkginstall

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

const (
	answerMark = "seer-answer: " // before what a script has to say to us
	maxLine    = 16 << 10
	tailLines  = 5 // that an error quotes, of a program that names no cause
)

// run gives each line that a program prints to the log, and returns its answer.
func (i *installer) run(ctx context.Context, what string, program, args []string, env map[string]string) (string, error) {
	out := &lines{emit: i.log, hidden: i.hidden}
	spec := protocol.ProcessSpec{Argv: slices.Concat(oneStream, program, args), Env: env, Name: what}
	p, err := i.runtime.Processes().Run(ctx, spec, nil, out, out)
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
		return "", &failure{what: what, code: p.ExitCode, out: out}
	}
}

// oneStream is before a program whose errors are to stand where they belong in what it
// prints: of two streams nobody knows the order, and an error quotes the end.
var oneStream = []string{"sh", "-c", `exec "$@" 2>&1`, "sh"}

// failure is a program that ended with another code than 0.
type failure struct {
	what string
	code int
	out  *lines
}

func (f *failure) Error() string {
	return fmt.Sprintf("%s failed with exit code %d: %s", f.what, f.code, f.out.said())
}

// Unwrap makes it an error of the code invalid.
func (f *failure) Unwrap() error { return &sdk.Error{Code: sdk.Invalid, Message: f.Error()} }

// cannot is the scripts' exit code for a machine that lacks the means.
const cannot = 90

// lines cuts output into lines. A carriage return, as progress bars use it, ends a
// line as well.
type lines struct {
	emit    func(string)
	partial []byte
	answers []string // the lines with answerMark
	last    string   // that was not empty
	tail    []string // the last of them
	errors  []string // that name the cause, as pip and apt do
	hidden  []string // what is never shown
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
	for _, secret := range l.hidden {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "****")
		}
	}
	l.last = text
	if l.tail = append(l.tail, text); len(l.tail) > tailLines {
		l.tail = l.tail[1:]
	}
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
