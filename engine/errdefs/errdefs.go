// Package errdefs classifies errors: for a caller who must decide what to do, and for
// the exit code of a program.
package errdefs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/trust"
	"github.com/seer-engine/seer/sdk"
)

// Kind classifies an error for a caller who must decide what to do, and for the
// CLI's exit code. The set is closed.
type Kind string

// The kinds of error.
const (
	KindInternal     Kind = "internal"     // a defect of Seer
	KindConfig       Kind = "config"       // the experiment, or a file or folder that cannot be read or written
	KindNotFound     Kind = "not_found"    // no such sandbox, service, file, plugin
	KindConflict     Kind = "conflict"     // a name or port is taken
	KindPlugin       Kind = "plugin"       // a plugin is missing, broken or misbehaves
	KindProvider     Kind = "provider"     // the machine could not be had or was lost
	KindService      Kind = "service"      // an interface did not load
	KindCall         Kind = "call"         // the called function failed
	KindInterrupted  Kind = "interrupted"  // the worker died in the middle of a call
	KindUnauthorized Kind = "unauthorized" // a token or credential was refused
	KindUnsupported  Kind = "unsupported"  // not in this version, or not on this backend
	KindUntrusted    Kind = "untrusted"    // nobody has confirmed what it does, or who made it; see package trust
	KindNoSpace      Kind = "no_space"     // a disk is full
	KindCancelled    Kind = "cancelled"    // the caller's context was cancelled
	KindTimeout      Kind = "timeout"      // a deadline passed
)

// Error is an error with a kind. Its message is the wrapped error's: one sentence
// that says what, where and what to do.
type Error struct {
	Kind Kind
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Is makes errors.Is(err, fs.ErrNotExist) match everything that is not there.
func (e *Error) Is(target error) bool { return target == fs.ErrNotExist && e.Kind == KindNotFound }

// KindOf reports the kind of err, also of errors of other packages that have no kind
// of their own. It is empty for nil.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	if k, ok := kindOfCall(err); ok {
		return k
	}
	if k, ok := kindOfRuntime(err); ok {
		return k
	}
	var unconfirmed *trust.Error
	var mistakes experiment.Errors
	var mistake *experiment.Error
	var taken *machine.ConflictError
	var missing *host.Error
	var plugin *sdk.Error
	switch {
	case errors.As(err, &unconfirmed):
		return KindUntrusted
	case errors.As(err, &mistakes), errors.As(err, &mistake):
		if errors.As(err, &plugin) { // the experiment is fine; what it needs cannot be had
			return kindOfCode(plugin.Code)
		}
		return KindConfig
	case errors.As(err, &taken):
		return KindConflict
	case errors.As(err, &missing):
		return KindPlugin
	case errors.As(err, &plugin):
		return kindOfCode(plugin.Code)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return KindNoSpace
	case errors.Is(err, context.Canceled):
		return KindCancelled
	case errors.Is(err, context.DeadlineExceeded):
		return KindTimeout
	case errors.Is(err, fs.ErrNotExist):
		return KindNotFound
	case cannotBe(err):
		return KindConfig
	}
	return KindInternal
}

// cannotBe reports whether a file or folder that somebody has named cannot be read or
// written there.
func cannotBe(err error) bool {
	var path *fs.PathError
	var link *os.LinkError
	if !errors.As(err, &path) && !errors.As(err, &link) {
		return false
	}
	return slices.ContainsFunc([]error{fs.ErrPermission, syscall.EROFS, syscall.ENOTDIR, syscall.EISDIR, syscall.ENAMETOOLONG, syscall.ELOOP},
		func(why error) bool { return errors.Is(err, why) })
}

func kindOfCall(err error) (Kind, bool) {
	var call *protocol.CallError
	if !errors.As(err, &call) {
		return "", false
	}
	switch call.Code {
	case protocol.CallInterrupted:
		return KindInterrupted, true
	case protocol.CallTimeout:
		return KindTimeout, true
	case protocol.CallCancelled:
		return KindCancelled, true
	case protocol.CallLoadFailed:
		return KindService, true
	case protocol.CallUnknownFunction, protocol.CallUnknown, protocol.CallHandleGone:
		return KindNotFound, true
	case protocol.CallRefused:
		return KindUnauthorized, true
	case protocol.CallBusy:
		return KindProvider, true
	}
	return KindCall, true
}

func kindOfRuntime(err error) (Kind, bool) {
	var e *protocol.Error
	if !errors.As(err, &e) {
		return "", false
	}
	switch e.Code {
	case protocol.Unauthorized, protocol.Forbidden:
		return KindUnauthorized, true
	case protocol.NotFound:
		return KindNotFound, true
	case protocol.Conflict:
		return KindConflict, true
	case protocol.NoSpace:
		return KindNoSpace, true
	case protocol.Unavailable:
		return KindProvider, true
	case protocol.Unsupported:
		if errors.Is(err, e) {
			return KindUnsupported, true
		}
		return KindProvider, true // made by what stands before a machine, which is not reached
	case protocol.Invalid:
		return KindConfig, true
	}
	return KindInternal, true
}

func kindOfCode(c sdk.Code) Kind {
	switch c {
	case sdk.NotFound:
		return KindNotFound
	case sdk.Invalid:
		return KindConfig
	case sdk.Unauthorized:
		return KindUnauthorized
	case sdk.Unsupported:
		return KindUnsupported
	case sdk.NoCapacity, sdk.RateLimited, sdk.Unavailable:
		return KindProvider
	}
	return KindPlugin
}

// Wrap gives err a kind unless it already has a better one. Nil stays nil.
func Wrap(kind Kind, err error) error {
	if err == nil {
		return nil
	}
	if k := KindOf(err); k != KindInternal {
		return &Error{Kind: k, Err: err}
	}
	return &Error{Kind: kind, Err: err}
}

// OfFolder is for folders that the user's settings name and that cannot be had.
func OfFolder(err error) error {
	if KindOf(err) == KindNoSpace {
		return err
	}
	return &Error{Kind: KindConfig, Err: err}
}
