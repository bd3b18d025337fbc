package engine

import "github.com/seer-engine/seer/engine/errdefs"

// Kind classifies an error for a caller who must decide what to do, and for the
// CLI's exit code. The set is closed.
type Kind = errdefs.Kind

// The kinds of error.
const (
	KindInternal     Kind = errdefs.KindInternal     // a defect of Seer
	KindConfig       Kind = errdefs.KindConfig       // the experiment, or a file or folder that cannot be read or written
	KindNotFound     Kind = errdefs.KindNotFound     // no such sandbox, service, file, plugin
	KindConflict     Kind = errdefs.KindConflict     // a name or port is taken
	KindPlugin       Kind = errdefs.KindPlugin       // a plugin is missing, broken or misbehaves
	KindProvider     Kind = errdefs.KindProvider     // the machine could not be had or was lost
	KindService      Kind = errdefs.KindService      // an interface did not load
	KindCall         Kind = errdefs.KindCall         // the called function failed
	KindInterrupted  Kind = errdefs.KindInterrupted  // the worker died in the middle of a call
	KindUnauthorized Kind = errdefs.KindUnauthorized // a token or credential was refused
	KindUnsupported  Kind = errdefs.KindUnsupported  // not in this version, or not on this backend
	KindUntrusted    Kind = errdefs.KindUntrusted    // nobody has confirmed what it does, or who made it; see package trust
	KindNoSpace      Kind = errdefs.KindNoSpace      // a disk is full
	KindCancelled    Kind = errdefs.KindCancelled    // the caller's context was cancelled
	KindTimeout      Kind = errdefs.KindTimeout      // a deadline passed
)

// Error is an error with a kind. Its message is the wrapped error's: one sentence
// that says what, where and what to do.
type Error = errdefs.Error

// KindOf reports the kind of err, also of errors that come from the packages
// below the façade. It is empty for nil.
func KindOf(err error) Kind { return errdefs.KindOf(err) }

// as gives err a kind unless it already has a better one.
func as(kind Kind, err error) error { return errdefs.Wrap(kind, err) }
