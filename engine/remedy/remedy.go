// Package remedy says what can be done about an error in a form that a program can act
// on. The text of an error stays complete without it: it says in neutral words what to do.
// A program that embeds the engine turns a [Remedy] into a button or a call; the command
// line turns it into the exact command.
//
// A remedy does not survive a border: an error that comes from a plugin, from the runtime
// or out of a file has its text alone.
package remedy

import "slices"

// Action is what can be done. The comment names the fields of [Remedy] that belong to it.
type Action string

// The actions.
const (
	EndSandbox       Action = "end_sandbox"      // Sandbox; empty = one of those that run
	ListSandboxes    Action = "list_sandboxes"   //
	ShowSandbox      Action = "show_sandbox"     // Sandbox; empty = the one that is meant
	StartSandbox     Action = "start_sandbox"    // without an agent; from Snapshot, where there is one
	RunExperiment    Action = "run_experiment"   // with its agent
	InitExperiment   Action = "init_experiment"  // write an experiment file to start from
	SetFolder        Action = "set_folder"       // Field of the experiment names another folder, for this time
	SetText          Action = "set_text"         // Field of the experiment, to a text as it is
	ForwardPort      Action = "forward_port"     // Sandbox; Port, a number or the name of a session's program
	WaitForGPU       Action = "wait_for_gpu"     // start again, and wait until it is free
	CollectGarbage   Action = "collect_garbage"  // end what should have ended
	ShowOffers       Action = "show_offers"      // what can be rented
	AllowUnguarded   Action = "allow_unguarded"  // a provider that does not end its machines by itself
	ListSnapshots    Action = "list_snapshots"   //
	RemoveSnapshot   Action = "remove_snapshot"  // Snapshot
	SaveSnapshot     Action = "save_snapshot"    // Sandbox; of its files
	SaveLive         Action = "save_live"        // while the sandbox runs on
	SaveImage        Action = "save_image"       // Sandbox; of its whole file system, at its provider
	FixHost          Action = "fix_host"         // install what this computer lacks
	NamePluginFolder Action = "list_plugin_dirs" // name the folder that has the plugins
	InstallPlugin    Action = "install_plugin"   // Plugin is a reference; empty = the one that is meant
	InstallLocked    Action = "install_locked"   // what the lock in Folder names; empty = the present folder
	GrantPlugin      Action = "grant_plugin"     // Plugin is an ID; empty = the one that is meant
	GrantFolder      Action = "grant_folder"     // Folder: whatever is built there
	ConfirmGrant     Action = "confirm_grant"    // Hash of the permissions that were shown
	AcceptSigner     Action = "accept_signer"    // Plugin, Signer; empty = none
	NewPlugin        Action = "new_plugin"       //
	BuildPlugin      Action = "build_plugin"     //
	SignPlugin       Action = "sign_plugin"      //
	ChooseFolder     Action = "choose_folder"    // for a new plugin
	ChooseOutput     Action = "choose_output"    // for a plugin that is built
	AllowPlainHTTP   Action = "allow_plain_http" // to a registry
)

// Remedy is one thing that can be done. An [Action] says which fields it has.
type Remedy struct {
	Action   Action `json:"action"`
	Sandbox  string `json:"sandbox,omitempty"` // ID
	Port     string `json:"port,omitempty"`
	Snapshot string `json:"snapshot,omitempty"` // name
	Field    string `json:"field,omitempty"`    // of the experiment, dotted
	Plugin   string `json:"plugin,omitempty"`
	Folder   string `json:"folder,omitempty"`
	Signer   string `json:"signer,omitempty"` // fingerprint
	Hash     string `json:"hash,omitempty"`
}

// Actions lists every action, so that a front end can check that it knows all of them.
func Actions() []Action {
	return []Action{
		EndSandbox, ListSandboxes, ShowSandbox, StartSandbox, RunExperiment, InitExperiment, SetFolder, SetText, ForwardPort,
		WaitForGPU, CollectGarbage, ShowOffers, AllowUnguarded, ListSnapshots, RemoveSnapshot, SaveSnapshot, SaveLive, SaveImage, FixHost,
		NamePluginFolder, InstallPlugin, InstallLocked, GrantPlugin, GrantFolder, ConfirmGrant, AcceptSigner,
		NewPlugin, BuildPlugin, SignPlugin, ChooseFolder, ChooseOutput, AllowPlainHTTP,
	}
}

// Carrier is an error that has remedies.
type Carrier interface {
	error
	Remedy() []Remedy
}

// Error is an error with remedies. Its message is the wrapped error's.
type Error struct {
	Err      error
	Remedies []Remedy
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error without the remedies.
func (e *Error) Unwrap() error { return e.Err }

// Remedy implements [Carrier].
func (e *Error) Remedy() []Remedy { return e.Remedies }

// For is err with remedies. Nil stays nil.
func For(err error, remedies ...Remedy) error {
	if err == nil || len(remedies) == 0 {
		return err
	}
	return &Error{Err: err, Remedies: remedies}
}

// Of returns the remedies of err and of all errors that it wraps or joins, the outermost
// first and each once.
func Of(err error) []Remedy {
	return appendOf(nil, err)
}

func appendOf(all []Remedy, err error) []Remedy {
	if err == nil {
		return all
	}
	if c, ok := err.(Carrier); ok { //nolint:errorlint // the chain is walked here
		all = Add(all, c.Remedy()...)
	}
	switch e := err.(type) { //nolint:errorlint // the chain is walked here
	case interface{ Unwrap() error }:
		return appendOf(all, e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			all = appendOf(all, one)
		}
	}
	return all
}

// Add appends those that are not in all yet.
func Add(all []Remedy, more ...Remedy) []Remedy {
	for _, r := range more {
		if !slices.Contains(all, r) {
			all = append(all, r)
		}
	}
	return all
}

// Has reports whether one of them is of an action.
func Has(all []Remedy, a Action) bool {
	return slices.ContainsFunc(all, func(r Remedy) bool { return r.Action == a })
}
