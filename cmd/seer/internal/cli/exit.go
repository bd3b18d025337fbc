package cli

import (
	"context"
	"errors"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/machine"
)

// The exit codes of seer; docs/cli.md is their documentation. exec and python pass
// the command's own code through.
const (
	exitOK           = 0
	exitInternal     = 1
	ExitUsage        = 2
	ExitConfig       = 3
	ExitNotFound     = 4
	ExitPlugin       = 5
	exitProvider     = 6
	exitService      = 7
	exitCall         = 8
	exitInterrupted  = 9
	exitUnauthorized = 10
	ExitAgent        = 11
	exitConflict     = 12
	exitUnsupported  = 13
	exitNoSpace      = 14
	exitUntrusted    = 15
	exitTimeout      = 124
	exitExec         = 125 // exec, python: seer itself failed
	exitSignal       = 128 // and the number of the signal
)

const exitCodesText = `seer ends with one of these codes:

    0  ok
    1  a defect of Seer
    2  the command line is invalid
    3  a mistake in the experiment or in a file that it names;
       a file or folder that cannot be read or written
    4  no such sandbox, run, service, function, call, plugin, agent or file; or an
       ambiguous ID
    5  a plugin is missing, broken, misbehaves, failed its tests or was not granted;
       a source of models sends other data than it has announced
    6  Seer could not get the machine, cannot reach it or lost it; a source of
       models cannot be reached or limits requests
    7  the interface did not load
    8  the called function failed
    9  the call was interrupted: its worker died in the middle
   10  a token or credential was refused, or the token's limits forbid the call
   11  the agent of seer run ended with an error; a program failed a check of
       seer agent doctor
   12  a name, workspace or file is taken; a run that is to be removed is running
   13  not supported by this version or on this provider
   14  a disk is full
   15  nobody has confirmed what the experiment does beyond its folder and its
       confinement, or nobody trusted has signed the snapshot
  124  a timeout ended it
  129  SIGHUP, 130 Ctrl-C, 141 the reader of the output went away, 143 SIGTERM

exec and python end with the code of the command that they ran, and with 125 when
Seer itself failed. An invalid command line is 2 there, too.`

// ExitCodesTopic is the help about exit codes.
func ExitCodesTopic() *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodesText}
}

// codes are the exit codes of the kinds of errors.
var codes = map[engine.Kind]int{
	engine.KindConfig:       ExitConfig,
	engine.KindNotFound:     ExitNotFound,
	engine.KindPlugin:       ExitPlugin,
	engine.KindProvider:     exitProvider,
	engine.KindService:      exitService,
	engine.KindCall:         exitCall,
	engine.KindInterrupted:  exitInterrupted,
	engine.KindUnauthorized: exitUnauthorized,
	engine.KindConflict:     exitConflict,
	engine.KindUnsupported:  exitUnsupported,
	engine.KindNoSpace:      exitNoSpace,
	engine.KindUntrusted:    exitUntrusted,
	engine.KindTimeout:      exitTimeout,
	engine.KindCancelled:    exitSignal + int(syscall.SIGINT),
}

func codeOfKind(k engine.Kind) int {
	if code, ok := codes[k]; ok {
		return code
	}
	return exitInternal
}

// ExitCode is what err means to a shell. A signal that stopped the work counts
// more than the error that stopping led to.
func ExitCode(err error, stopped os.Signal) int {
	var own *ExitError
	number, signalled := stopped.(syscall.Signal)
	switch {
	case errors.As(err, &own) && (own.final || !signalled):
		return own.Code
	case signalled:
		return exitSignal + int(number)
	case err == nil:
		return exitOK
	case isBrokenPipe(err):
		return exitSignal + int(syscall.SIGPIPE)
	}
	return codeOfKind(KindOf(err))
}

func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

// KindOf is [engine.KindOf], with what only a command line knows.
func KindOf(err error) engine.Kind {
	var ambiguous *machine.AmbiguousError
	var conflict *machine.ConflictError
	switch {
	case errors.As(err, &ambiguous):
		return engine.KindNotFound
	case errors.As(err, &conflict):
		return engine.KindConflict
	case errors.Is(err, context.DeadlineExceeded):
		return engine.KindTimeout
	}
	return engine.KindOf(err)
}

// ExitError ends the program with a code of its own.
type ExitError struct {
	Code  int
	Kind  string // for --json
	final bool   // the code stands also after a signal
	Err   error  // nil = there is nothing to say
}

// Error is empty where there is nothing to say.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Unwrap gives the error behind the code.
func (e *ExitError) Unwrap() error { return e.Err }

// PassThrough ends the program with the code of a command that was run.
func PassThrough(code int) error {
	if code == 0 {
		return nil
	}
	return &ExitError{Code: code, final: true}
}

// ExecFailure marks an error of exec and python, whose codes are the command's.
func ExecFailure(err error) error {
	var own *ExitError
	if err == nil || errors.As(err, &own) || isBrokenPipe(err) {
		return err
	}
	return &ExitError{Code: exitExec, Kind: string(KindOf(err)), Err: err}
}
