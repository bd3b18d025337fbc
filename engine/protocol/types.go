package protocol

import (
	"github.com/seer-engine/seer/sdk"
)

// Health is what a runtime says about itself.
type Health struct {
	Version     string                  `json:"version"`
	StartedUnix int64                   `json:"started_unix"`
	NowUnix     int64                   `json:"now_unix"`
	Python      string                  `json:"python"` // the interpreter of services
	Services    map[string]ServiceState `json:"services"`
	Lease       Lease                   `json:"lease"`
	Busy        bool                    `json:"busy"`          // a process, call or transfer is running
	LastUseUnix int64                   `json:"last_use_unix"` // when the last one ended, or now while busy
}

// Config is what every process and service of a machine shares.
type Config struct {
	Env     map[string]string `json:"env,omitempty"`
	Secrets map[string]string `json:"secrets,omitempty"` // variables too, and scrubbed from all output
	Models  []Model           `json:"models,omitempty"`
	Python  string            `json:"python,omitempty"`  // default: the interpreter that ran the loader
	Workdir string            `json:"workdir,omitempty"` // default /workspace
}

// ConfigInfo is a [Config] as the runtime tells it: without secret values.
type ConfigInfo struct {
	Env     map[string]string `json:"env"`
	Secrets []string          `json:"secrets"` // names, sorted
	Models  []Model           `json:"models"`
	Python  string            `json:"python"`
	Workdir string            `json:"workdir"`
}

// Model is a model on the machine.
type Model struct {
	Name     string `json:"name"`
	Path     string `json:"path"`
	EnvName  string `json:"env_name,omitempty"` // MODEL_…_PATH
	Revision string `json:"revision,omitempty"`
	VarName  string `json:"var_name,omitempty"`
	Hidden   bool   `json:"hidden,omitempty"`
}

// LeaseKind says who keeps a machine alive.
type LeaseKind string

// The kinds of [Lease].
const (
	LeaseBoot     LeaseKind = "boot"     // nobody has taken a lease since the machine booted
	LeaseAttached LeaseKind = "attached" // a living client renews it
	LeaseDetached LeaseKind = "detached" // a deadline
)

// LeaseRequest takes or renews the lease of a machine.
type LeaseRequest struct {
	Kind        LeaseKind `json:"kind"`
	TTLSeconds  float64   `json:"ttl_seconds"`            // from now
	IdleSeconds float64   `json:"idle_seconds,omitempty"` // 0 = off
}

// Lease is how long a machine will live. When it ends, so does everything on
// the machine.
type Lease struct {
	Kind        LeaseKind `json:"kind"`
	EndUnix     int64     `json:"end_unix"`
	IdleSeconds float64   `json:"idle_seconds"`
	HardEndUnix int64     `json:"hard_end_unix"` // nothing extends it; 0 = none
}

// ProcessSpec is a command to run. Exactly one of Argv and Shell is set.
type ProcessSpec struct {
	ID             string            `json:"id,omitempty"` // chosen by the caller, so that a repeated start is harmless; default: made by the runtime
	Name           string            `json:"name,omitempty"`
	Argv           []string          `json:"argv,omitempty"`
	Shell          string            `json:"shell,omitempty"` // run by bash, or sh where there is none
	Cwd            string            `json:"cwd,omitempty"`   // default: the configured working folder
	Env            map[string]string `json:"env,omitempty"`
	TimeoutSeconds float64           `json:"timeout_seconds,omitempty"` // 0 = none
	Stdin          bool              `json:"stdin,omitempty"`           // false = /dev/null
	Background     bool              `json:"background,omitempty"`      // lives on when nobody follows its output
}

// ProcessState is where a process is in its life.
type ProcessState string

// The states of a [Process].
const (
	ProcessRunning ProcessState = "running"
	ProcessExited  ProcessState = "exited"
)

// Process is a process of a machine.
type Process struct {
	ID          string       `json:"id"`
	Name        string       `json:"name,omitempty"`
	Argv        []string     `json:"argv"`
	State       ProcessState `json:"state"`
	ExitCode    int          `json:"exit_code"`        // 128+n for signal n; 124 with TimedOut
	Signal      string       `json:"signal,omitempty"` // what ended it: KILL, TERM …
	TimedOut    bool         `json:"timed_out,omitempty"`
	StartedUnix int64        `json:"started_unix"`
	EndedUnix   int64        `json:"ended_unix,omitempty"`
	Background  bool         `json:"background,omitempty"`
	OutputBytes int64        `json:"output_bytes"` // of the spool, record headers included
}

// EntryType is what a path is.
type EntryType string

// The types of [Entry].
const (
	EntryFile    EntryType = "file"
	EntryDir     EntryType = "dir"
	EntrySymlink EntryType = "symlink"
	EntryOther   EntryType = "other"
)

// Entry is one file, folder or link.
type Entry struct {
	Name      string    `json:"name"`
	Path      string    `json:"path"`
	Type      EntryType `json:"type"`
	Size      int64     `json:"size"`
	Mode      string    `json:"mode"` // octal permission bits: 0644
	MtimeUnix int64     `json:"mtime_unix"`
	Target    string    `json:"target,omitempty"` // of a symlink
}

// TreeResult counts what was unpacked.
type TreeResult struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

// ServiceSpec is an interface file to be served.
type ServiceSpec struct {
	Filename           string  `json:"filename"` // for tracebacks: interface.py
	Code               string  `json:"code"`
	TokenSHA256        string  `json:"token_sha256"` // hex; see [HashToken]
	LoadTimeoutSeconds float64 `json:"load_timeout_seconds,omitempty"`
}

// ServiceState is where a service is in its life.
type ServiceState string

// The states of a [Service].
const (
	ServiceLoading ServiceState = "loading"
	ServiceReady   ServiceState = "ready"
	ServiceFailed  ServiceState = "failed"  // it could not be loaded; see Service.Error
	ServiceStopped ServiceState = "stopped" // replaced or deleted
	ServiceCrashed ServiceState = "crashed" // its worker died; Seer starts it again a few times
)

// Service is an interface being served.
type Service struct {
	Name        string         `json:"name"`
	Generation  int            `json:"generation"` // counts how often the name was served
	State       ServiceState   `json:"state"`
	Interface   *sdk.Interface `json:"interface,omitempty"` // once it was ready
	Error       *CallError     `json:"error,omitempty"`
	Restarts    int            `json:"restarts"`
	StartedUnix int64          `json:"started_unix"`
}
