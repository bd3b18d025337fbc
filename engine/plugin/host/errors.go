package host

import (
	"fmt"

	"github.com/seer-engine/seer/engine/remedy"
)

// Fault says what is wrong with a plugin.
type Fault string

// The faults.
const (
	FaultNotFound  Fault = "not_found"    // no plugin provides the name
	FaultFolder    Fault = "folder"       // a plugin folder cannot be read
	FaultDuplicate Fault = "duplicate"    // hidden by another plugin, searched earlier
	FaultCorrupt   Fault = "corrupt"      // not a Wasm module that can be compiled
	FaultManifest  Fault = "manifest"     // missing, invalid or not the embedded one
	FaultVersion   Fault = "version"      // made for another contract version
	FaultGrant     Fault = "grant"        // asks for access that it does not have
	FaultImports   Fault = "imports"      // needs a host function that there is not
	FaultExports   Fault = "exports"      // lacks a function of its contract
	FaultCrash     Fault = "crash"        // panicked, trapped or exited in a call
	FaultTime      Fault = "time_limit"   // took longer than a call may
	FaultMemory    Fault = "memory_limit" // needed more memory than it may
	FaultOutput    Fault = "bad_output"   // answered what the contract does not allow
	FaultSurface   Fault = "surface"      // made a surface that its permissions do not allow
	FaultCache     Fault = "cache"        // the folder for compiled code cannot be used
	FaultClosed    Fault = "closed"       // the host was closed
)

// Error is a failure of a plugin or of finding one. An error that the plugin
// itself reports is not an Error but the plugin's own *sdk.Error.
type Error struct {
	Fault  Fault
	Plugin string // id, or the file's stem where there is no manifest; may be empty
	File   string // the file at fault; may be empty
	Err    error

	Remedies []remedy.Remedy
}

func (e *Error) Error() string {
	switch {
	case e.Plugin != "" && e.File != "":
		return fmt.Sprintf("plugin %s (%s): %v", e.Plugin, e.File, e.Err)
	case e.File != "":
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	default:
		return e.Err.Error()
	}
}

// Unwrap gives the cause; sdk.CodeOf sees through it.
func (e *Error) Unwrap() error { return e.Err }

// Remedy implements [remedy.Carrier].
func (e *Error) Remedy() []remedy.Remedy { return e.Remedies }

// ungranted is a fault that the user can mend by granting what the plugin asks for.
func ungranted(p Plugin, format string, args ...any) error {
	return &Error{Fault: FaultGrant, Plugin: p.Manifest.ID, File: p.File, Err: fmt.Errorf(format, args...),
		Remedies: []remedy.Remedy{{Action: remedy.GrantPlugin, Plugin: p.Manifest.ID}}}
}

func fault(f Fault, p Plugin, format string, args ...any) error {
	return &Error{Fault: f, Plugin: p.Manifest.ID, File: p.File, Err: fmt.Errorf(format, args...)}
}
