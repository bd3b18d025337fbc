package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/engine/trust"
)

// errorJSON is an error under --json.
type errorJSON struct {
	Kind     string   `json:"kind"`
	Message  string   `json:"message"`
	Hints    []string `json:"hints,omitempty"` // commands and flags
	ExitCode int      `json:"exit_code"`
	Details  any      `json:"details,omitempty"` // config: the mistakes; call, service: the remote error; untrusted: the effects
}

// Report tells the user why the program failed, on stderr.
func (a *App) Report(err error, code int) {
	if err == nil || err.Error() == "" || isBrokenPipe(err) {
		return
	}
	if a.JSON {
		shown := errorJSON{Kind: kindText(err), Message: AsTyped(summary(err)), Hints: Hints(remedy.Of(err)), ExitCode: code, Details: details(err)}
		_ = term.WriteJSON(a.UI.Stderr(), map[string]errorJSON{"error": shown}) // a closed stderr means that none is wanted
		return
	}
	if kindText(err) != string(engine.KindCancelled) {
		a.UI.Reveal()
	}
	a.UI.Fail(message(err))
}

func kindText(err error) string {
	var own *ExitError
	if errors.As(err, &own) && own.Kind != "" {
		return own.Kind
	}
	return string(KindOf(err))
}

// message is the error as a person should read it: one sentence, then the list of
// mistakes or the user's own traceback where there is one, then the hints.
func message(err error) string {
	var mistakes experiment.Errors
	if errors.As(err, &mistakes) && len(mistakes) > 1 {
		return withHints(fmt.Sprintf("%d mistakes in the experiment:\n%s", len(mistakes), AsTyped(mistakes.Error())), err)
	}
	text := strings.TrimRight(AsTyped(err.Error()), "\n") + trustHint(err)
	var call *protocol.CallError
	if errors.As(err, &call) {
		if traceback := strings.TrimRight(call.Traceback, "\n"); !strings.Contains(text, traceback) {
			text += "\n" + traceback
		}
	}
	return withHints(text, err)
}

// summary is the error without what [details] has.
func summary(err error) string {
	var mistakes experiment.Errors
	var call *protocol.CallError
	var hinted interface {
		error
		Hint() string
	}
	switch {
	case errors.As(err, &mistakes) && len(mistakes) > 1:
		return fmt.Sprintf("%d mistakes in the experiment", len(mistakes))
	case errors.As(err, &hinted) && errors.As(err, &call):
		return hinted.Hint() + ": " + call.Error()
	case errors.As(err, &call):
		return call.Error()
	}
	return err.Error()
}

func details(err error) any {
	var mistakes experiment.Errors
	var call *protocol.CallError
	var refused *trust.Error
	switch {
	case errors.As(err, &refused):
		return refused.Effects
	case errors.As(err, &mistakes):
		return mistakes
	case errors.As(err, &call):
		return call
	}
	return nil
}
