package sdk

import (
	"context"
	"encoding/json"
)

// Checker is implemented by a provider with [FeatureCheck].
type Checker interface {
	// Check looks at everything that a machine will need, before one is asked for, and reports
	// all that it found at once. It makes nothing. An error says that it could not look.
	Check(ctx context.Context, q CheckQuery) ([]Finding, error)
}

// CheckQuery is what a [Checker] looks for. Zero fields are not looked for.
type CheckQuery struct {
	GPU           string          `json:"gpu,omitempty"` // as in [OfferQuery]
	GPUCount      int             `json:"gpu_count,omitempty"`
	DiskGB        int             `json:"disk_gb,omitempty"`
	Isolation     string          `json:"isolation,omitempty"`      // as in [MachineSpec]
	Network       string          `json:"network,omitempty"`        // open, none or hosts
	PythonVersion string          `json:"python_version,omitempty"` // 3.12
	Image         string          `json:"image,omitempty"`          // as Base of [Image]
	Hosts         []string        `json:"hosts,omitempty"`          // host:port that a machine will connect to
	Options       json.RawMessage `json:"options,omitempty"`        // as in [MachineSpec]

	TimeoutSeconds int64 `json:"timeout_seconds,omitempty"` // how long a machine may live
	// OnNode allows the check to run something short where machines will run, such as a job that
	// waits in the queue of a cluster. It ends with the check.
	OnNode bool `json:"on_node,omitempty"`
}

// Finding is one thing that a [Checker] has looked at.
type Finding struct {
	Name   string `json:"name"`             // what was looked at, in a few words, such as "partition gpu on lab"
	State  string `json:"state"`            // of [FindingOK] and those below it
	Detail string `json:"detail,omitempty"` // what was found
	Fix    string `json:"fix,omitempty"`    // what to do, where State is not ok
}

// The values of [Finding].State.
const (
	FindingOK      = "ok"
	FindingWarning = "warning" // machines work, but not all that they could
	FindingFailed  = "failed"  // what the query asks for cannot work
	FindingUnknown = "unknown" // it could not be looked at
)

// Known reports whether State is one of this version of the contract.
func (f Finding) Known() bool {
	switch f.State {
	case FindingOK, FindingWarning, FindingFailed, FindingUnknown:
		return true
	}
	return false
}

// Cleaner is implemented by a provider with [FeatureClean].
type Cleaner interface {
	// Clean removes what Seer keeps on the backend for later machines, such as programs and
	// models in a cache, unless a machine uses it. With DryRun it removes nothing and reports
	// the same.
	Clean(ctx context.Context, in CleanInput) ([]Cleaned, error)
}

// CleanInput is the input of [ExportProviderClean].
type CleanInput struct {
	DryRun  bool            `json:"dry_run,omitempty"`
	Options json.RawMessage `json:"options,omitempty"` // as in [MachineSpec]
}

// Cleaned is one thing that a [Cleaner] has removed, or would remove.
type Cleaned struct {
	Name  string `json:"name"` // such as "lab:~/.cache/seer/models"
	Bytes int64  `json:"bytes,omitempty"`
}
