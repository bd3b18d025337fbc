package protocol

import (
	"encoding/json"
	"time"

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
	Env      map[string]string `json:"env,omitempty"`
	Secrets  map[string]string `json:"secrets,omitempty"` // variables too, and scrubbed from all output
	Models   []Model           `json:"models,omitempty"`
	Datasets []Model           `json:"datasets,omitempty"`
	Python   string            `json:"python,omitempty"`  // default: the interpreter that ran the loader
	Workdir  string            `json:"workdir,omitempty"` // default /workspace
	Price    float64           `json:"price,omitempty"`   // of the machine, US dollars an hour; for tokens that limit the spend
}

// ConfigInfo is a [Config] as the runtime tells it: without secret values.
type ConfigInfo struct {
	Env      map[string]string `json:"env"`
	Secrets  []string          `json:"secrets"` // names, sorted
	Models   []Model           `json:"models"`
	Datasets []Model           `json:"datasets"`
	Python   string            `json:"python"`
	Workdir  string            `json:"workdir"`
	Price    float64           `json:"price"` // 0 = none was given
}

// Model is a model or a dataset on the machine.
type Model struct {
	Name     string `json:"name"`
	Path     string `json:"path"`
	EnvName  string `json:"env_name,omitempty"` // MODEL_…_PATH or DATASET_…_PATH
	Revision string `json:"revision,omitempty"`
	VarName  string `json:"var_name,omitempty"`
	Hidden   bool   `json:"hidden,omitempty"`
	// Repos are its names at the Hub, org/name or datasets/org/name, by which the Hub's clients
	// on the machine find it, at Revision and at the branches and tags Refs. Empty = they do not.
	Repos []string `json:"repos,omitempty"`
	Refs  []string `json:"refs,omitempty"`
	// Absent are files that clients look for and the repository has not: without a token they
	// could not find that out.
	Absent []string `json:"absent,omitempty"`
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
	NowUnix     int64     `json:"now_unix"`      // by the machine's clock, as the ends are; 0 = an older runtime
}

// Ends is when the lease ends by the clock of the caller, for which it is now.
func (l Lease) Ends(now time.Time) time.Time {
	if l.NowUnix == 0 {
		return time.Unix(l.EndUnix, 0)
	}
	return now.Add(time.Duration(l.EndUnix-l.NowUnix) * time.Second).Truncate(time.Second)
}

// RuntimeProgram as the first of a process's arguments stands for the runtime's own
// program, which can also search for names.
const RuntimeProgram = ":seer-runtime"

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
	PTY            *PTY              `json:"pty,omitempty"`             // its streams are a terminal; all output is stdout
	Activity       string            `json:"activity,omitempty"`        // in the background, and use only while this file was written in the last 20 s
	Restart        bool              `json:"restart,omitempty"`         // in the background, and started again when it ends by itself
}

// PTY is the terminal of a process.
type PTY struct {
	Rows int    `json:"rows,omitempty"` // 0 = 24
	Cols int    `json:"cols,omitempty"` // 0 = 80
	Term string `json:"term,omitempty"` // the variable TERM; empty = xterm-256color
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
	Restarts    int          `json:"restarts,omitempty"`
	MachineEnds bool         `json:"machine_ends,omitempty"` // it was killed because the machine ends
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
	Limits             Limits  `json:"limits,omitzero"`
	Record             bool    `json:"record,omitempty"`   // the journal keeps everything until it has been read
	InPlace            bool    `json:"in_place,omitempty"` // the running worker takes the edited file over, if that is safe
}

// Limits bound what a service keeps. 0 means the default, which docs/protocol.md
// names.
type Limits struct {
	KeepSeconds   float64 `json:"keep_seconds,omitempty"`   // an answer that nobody has acknowledged
	KeepCalls     int     `json:"keep_calls,omitempty"`     // that are remembered
	KeepBytes     int64   `json:"keep_bytes,omitempty"`     // of answers
	HandleSeconds float64 `json:"handle_seconds,omitempty"` // since the last use
	HandleCount   int     `json:"handle_count,omitempty"`
	HandleBytes   int64   `json:"handle_bytes,omitempty"`
	Queue         int     `json:"queue,omitempty"` // calls that wait
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
	InPlace     *InPlace       `json:"in_place,omitempty"` // of the last edit that was to be taken over
}

// InPlace says what became of an edited file that the running worker was to take
// over.
type InPlace struct {
	Kept   bool   `json:"kept"`             // the worker goes on, with what it has loaded
	Reason string `json:"reason,omitempty"` // why not
}

// CallState is where a call is in its life.
type CallState string

// The states of a [Call].
const (
	CallQueued       CallState = "queued"
	CallRunning      CallState = "running"
	CallDone         CallState = "done"
	CallFailed       CallState = "failed"
	CallWasCancelled CallState = "cancelled"
	CallWasCut       CallState = "interrupted"
)

// Call is a call of a service, as the sandbox knows it. Times are unix seconds.
type Call struct {
	ID         string     `json:"id"`
	Function   string     `json:"function"`
	State      CallState  `json:"state"`
	Position   *int       `json:"position,omitempty"` // calls that go first
	Token      string     `json:"token,omitempty"`
	Client     string     `json:"client,omitempty"`
	Detached   bool       `json:"detached"`
	Followed   bool       `json:"followed"` // somebody waits for it
	QueuedUnix float64    `json:"queued_unix"`
	Started    float64    `json:"started_unix,omitempty"`
	Ended      float64    `json:"ended_unix,omitempty"`
	Seconds    float64    `json:"seconds,omitempty"`
	Bytes      int64      `json:"bytes,omitempty"`       // of the answer that is kept
	GPUBytes   int64      `json:"gpu_bytes,omitempty"`   // that torch in its worker had allocated at most while it ran, models included
	GPUSeconds float64    `json:"gpu_seconds,omitempty"` // Seconds times the GPUs with such memory
	Error      *CallError `json:"error,omitempty"`       // code and message
}

// Token lets its holder call one service, within limits. Zero values are no limit.
type Token struct {
	ID        string                                `json:"id"`
	Name      string                                `json:"name,omitempty"`
	SHA256    string                                `json:"sha256"` // hex; see [HashToken]
	Functions []string                              `json:"functions,omitempty"`
	Calls     int                                   `json:"calls,omitempty"`
	Rate      []float64                             `json:"rate,omitempty"` // calls, seconds
	Expires   int64                                 `json:"expires_unix,omitempty"`
	SpendUSD  float64                               `json:"spend,omitempty"`
	Arguments map[string]map[string]json.RawMessage `json:"arguments,omitempty"` // function → parameter → schema
	Use       *TokenUse                             `json:"use,omitempty"`       // only in answers
}

// MainToken is the id of the token that a service was served with. It has no limits.
const MainToken = "main"

// TokenUse is what a token has been used for.
type TokenUse struct {
	Calls    int     `json:"calls"`
	Seconds  float64 `json:"seconds"`
	SpendUSD float64 `json:"spend_usd"`
	Refused  int     `json:"refused"`
	Last     float64 `json:"last_unix,omitempty"`
}

// Handle is a value that stayed in the sandbox.
type Handle struct {
	ID      string             `json:"id"`
	Kind    string             `json:"kind"` // array, tensor, frame, image, bytes, value
	Type    string             `json:"type,omitempty"`
	Shape   []int64            `json:"shape,omitempty"`
	DType   string             `json:"dtype,omitempty"`
	Device  string             `json:"device,omitempty"`
	Bytes   int64              `json:"bytes"`
	Preview string             `json:"preview,omitempty"`
	Stats   map[string]float64 `json:"stats,omitempty"` // min, max, mean, std, nan
}
