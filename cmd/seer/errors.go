package main

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

// usagef is the error of a command line that cannot be meant.
func usagef(format string, args ...any) error {
	return &codeError{code: exitUsage, kind: "usage", err: &usageError{fmt.Errorf(format, args...)}}
}

// asUsage is for errors of the parser, which come before any command runs.
func asUsage(cmd *cobra.Command, err error) error {
	var own *codeError
	if errors.As(err, &own) {
		return err
	}
	text := strings.TrimSpace(strings.ReplaceAll(err.Error(), "\n\nDid you mean this?\n\t", "; did you mean "))
	text = strings.Join(strings.Fields(text), " ")
	end := "."
	if strings.Contains(text, "did you mean") {
		end = "?"
	}
	return usagef("%s%s See: %s --help", text, end, cmd.CommandPath())
}

// checkTimeout refuses a limit that is over before anything begins.
func checkTimeout(timeout time.Duration) error {
	if timeout < 0 {
		return usagef("--timeout %s is over before it begins; give a time such as 90s or 5m", timeout)
	}
	return nil
}

// providerError is for errors of the way to a sandbox, which have no kind yet.
func providerError(err error) error {
	if err == nil || engine.KindOf(err) != engine.KindInternal {
		return err
	}
	return &engine.Error{Kind: engine.KindProvider, Err: err}
}

// connectionError is for a connection file that cannot be used.
func connectionError(err error) error {
	if engine.KindOf(err) == engine.KindNotFound {
		return err
	}
	return &engine.Error{Kind: engine.KindConfig, Err: err}
}
