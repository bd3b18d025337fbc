package machine

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/sdk"
)

// NotFoundError says that no sandbox is meant by Ref. Its code is
// [sdk.NotFound].
type NotFoundError struct {
	Ref  string
	Near []string // what might have been meant
}

func (e *NotFoundError) Error() string {
	s := fmt.Sprintf("there is no sandbox %q", e.Ref)
	if len(e.Near) > 0 {
		return s + "; there is " + strings.Join(e.Near, ", ")
	}
	return s + "; list those that there are"
}

// Remedy implements [remedy.Carrier].
func (e *NotFoundError) Remedy() []remedy.Remedy {
	if len(e.Near) > 0 {
		return nil
	}
	return []remedy.Remedy{{Action: remedy.ListSandboxes}}
}

// Unwrap makes [sdk.CodeOf] see the code.
func (e *NotFoundError) Unwrap() error { return &sdk.Error{Code: sdk.NotFound, Message: "not found"} }

// AmbiguousError says that several sandboxes are meant by Ref. Its code is
// [sdk.Invalid].
type AmbiguousError struct {
	Ref        string
	Candidates []string
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q is the beginning of several sandboxes: %s; write more of it", e.Ref, strings.Join(e.Candidates, ", "))
}

// Unwrap makes [sdk.CodeOf] see the code.
func (e *AmbiguousError) Unwrap() error { return &sdk.Error{Code: sdk.Invalid, Message: "ambiguous"} }

// ConflictError says that a live sandbox already has the name. Its code is
// [sdk.Invalid].
type ConflictError struct {
	Name string
	ID   string // of the sandbox that has it
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("the name %q is taken by the sandbox %s; choose another one, or end that sandbox first", e.Name, e.ID)
}

// Remedy implements [remedy.Carrier].
func (e *ConflictError) Remedy() []remedy.Remedy {
	return []remedy.Remedy{{Action: remedy.EndSandbox, Sandbox: e.ID}}
}

// Unwrap makes [sdk.CodeOf] see the code.
func (e *ConflictError) Unwrap() error { return &sdk.Error{Code: sdk.Invalid, Message: "conflict"} }

// CorruptError says that a record cannot be read. The others still can.
type CorruptError struct {
	Path string
	Err  error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("the record %s cannot be read (%v); if its sandbox no longer runs, delete it", e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Err }

// AccountError says that a machine is not to be found with the credentials that are
// set now, and was rented with others. Its code is [sdk.Unauthorized].
type AccountError struct {
	ID       string
	Provider string
}

func (e *AccountError) Error() string {
	return fmt.Sprintf("the sandbox %s was rented with other credentials or settings of %s than those that are set now, which do not show it; set those again", e.ID, e.Provider)
}

// Unwrap makes [sdk.CodeOf] see the code.
func (e *AccountError) Unwrap() error {
	return &sdk.Error{Code: sdk.Unauthorized, Message: "another account"}
}

// TwinError says that a provider has made two machines for one sandbox. The second one
// costs money until the garbage collector or the end of the sandbox ends it.
type TwinError struct {
	ID       string
	Provider string
	Handle   string // of the second machine
}

func (e *TwinError) Error() string {
	return fmt.Sprintf("%s made a second machine for the sandbox %s, which costs money: %s; collect garbage to end it", e.Provider, e.ID, e.Handle)
}

// Remedy implements [remedy.Carrier].
func (e *TwinError) Remedy() []remedy.Remedy { return []remedy.Remedy{{Action: remedy.CollectGarbage}} }

// LeftoverError says that a machine could not be ended and may still cost money.
type LeftoverError struct {
	ID     string
	Handle string // empty when it is not even known whether there is a machine
	Err    error

	// Ends is when the machine ends by itself, of one whose host does not answer; zero = it is
	// not known that it does.
	Ends time.Time
}

func (e *LeftoverError) Error() string {
	what := "its machine"
	if e.Handle != "" {
		what = "the machine " + e.Handle
	}
	if !e.Ends.IsZero() {
		return fmt.Sprintf("%s of the sandbox %s could not be ended: %v; it ends by itself at %s at the latest, and its record stays until then: collect garbage when its host answers, to end it sooner",
			what, e.ID, e.Err, e.Ends.Local().Format("2006-01-02 15:04"))
	}
	return fmt.Sprintf("%s of the sandbox %s could not be ended and may still run: %v; collect garbage to try again", what, e.ID, e.Err)
}

// Remedy implements [remedy.Carrier].
func (e *LeftoverError) Remedy() []remedy.Remedy {
	return []remedy.Remedy{{Action: remedy.CollectGarbage}}
}

// Unwrap returns the cause.
func (e *LeftoverError) Unwrap() error { return e.Err }

// providerError says that there is no such provider, or that it does not start.
type providerError struct {
	name string
	err  error
}

func (e *providerError) Error() string { return fmt.Sprintf("the provider %q: %v", e.name, e.err) }
func (e *providerError) Unwrap() error { return e.err }

// askedWait is the earliest useful retry that a backend named, or zero.
func askedWait(err error) time.Duration {
	var e *sdk.Error
	if errors.As(err, &e) {
		return e.After()
	}
	return 0
}
