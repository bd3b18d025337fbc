package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/engine"
)

// usageError is a command line that cannot be meant.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// Usagef is the error of a command line that cannot be meant.
func Usagef(format string, args ...any) error {
	return &ExitError{Code: ExitUsage, Kind: "usage", Err: &usageError{fmt.Errorf(format, args...)}}
}

// asUsage is for errors of the parser, which come before any command runs.
func asUsage(cmd *cobra.Command, err error) error {
	var own *ExitError
	if errors.As(err, &own) {
		return err
	}
	text := strings.TrimSpace(strings.ReplaceAll(err.Error(), "\n\nDid you mean this?\n\t", "; did you mean "))
	text = strings.Join(strings.Fields(text), " ")
	end := "."
	if strings.Contains(text, "did you mean") {
		end = "?"
	}
	return Usagef("%s%s See: %s --help", text, end, cmd.CommandPath())
}

// CheckTimeout refuses a limit that is over before anything begins.
func CheckTimeout(timeout time.Duration) error {
	if timeout < 0 {
		return Usagef("--timeout %s is over before it begins; give a time such as 90s or 5m", timeout)
	}
	return nil
}

// ProviderError is for errors of the way to a sandbox, which have no kind yet.
func ProviderError(err error) error {
	if err == nil || engine.KindOf(err) != engine.KindInternal {
		return err
	}
	return &engine.Error{Kind: engine.KindProvider, Err: err}
}

// ConnectionError is for a connection file that cannot be used.
func ConnectionError(err error) error {
	if engine.KindOf(err) == engine.KindNotFound {
		return err
	}
	return &engine.Error{Kind: engine.KindConfig, Err: err}
}
