package fakerunpod

import (
	"strings"
	"time"
)

// Options are the settings of a [Cloud]. The zero value is a cloud with the
// catalogue, limits and cut of RunPod and no delays.
type Options struct {
	Dir       string   // folder for the files of pods and volumes; default: a temporary one, removed by Close
	Keys      []string // API keys of the account; default: a random one
	User      string   // id of the account; default: a random one
	Python    string   // interpreter of the pods' python3; default: see container.Spec
	Addr      string   // of the API, loopback; default 127.0.0.1:0
	ProxyAddr string   // of the proxy, loopback; default 127.0.0.1:0

	Clock       interface{ Now() time.Time } // for limits, bills and times; default: the real one
	Delays      Delays
	Limits      []Window      // default: DefaultLimits; empty but not nil = none
	ProxyCut    time.Duration // how long a request through the proxy may last; default 100 s
	ProxyBody   int64         // bytes; larger request bodies get 413 from the proxy; 0 = no limit
	StockEach   int           // free ones of each type in each data centre at first; default 16, negative = 0
	GPUs        []GPU         // default: DefaultGPUs
	CPUs        []CPU
	DataCenters []DataCenter

	// Images reports whether an image exists. Default: its name does not contain
	// "no-such".
	Images func(name string) bool

	// LateImages finds a missing image when it is pulled, so that the pod becomes
	// ERROR, and not when the pod is made (422).
	LateImages bool

	// ImageCommand is what an image runs without args. Default: it sleeps.
	ImageCommand []string
}

// Delays are real time, whatever the clock says, where nothing else is said.
type Delays struct {
	Provision time.Duration `json:"provision,omitempty"` // PROVISIONING
	Start     time.Duration `json:"start,omitempty"`     // STARTING
	Pull      time.Duration `json:"pull,omitempty"`      // RUNNING, but runtime is null and nothing runs
	Restart   time.Duration `json:"restart,omitempty"`   // before a program that has ended is run again; doubled each time up to a minute; default 100 ms
	Stop      time.Duration `json:"stop,omitempty"`      // between SIGTERM and SIGKILL; default 10 s
	Forget    time.Duration `json:"forget,omitempty"`    // by the clock: how long a terminated pod can still be asked for by its id
}

// Window is a limit on the number of requests of the account.
type Window struct {
	Name   string // minute
	Quota  int
	Length time.Duration
}

// DefaultLimits are RunPod's.
func DefaultLimits() []Window {
	return []Window{{"minute", 60, time.Minute}, {"hour", 3000, time.Hour}, {"day", 50000, 24 * time.Hour}}
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (o *Options) setDefaults() {
	if len(o.Keys) == 0 {
		o.Keys = []string{newKey()}
	}
	if o.User == "" {
		o.User = "user_" + random(24)
	}
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	if o.Limits == nil {
		o.Limits = DefaultLimits()
	}
	if o.Images == nil {
		o.Images = func(name string) bool { return !strings.Contains(name, "no-such") }
	}
	if o.ImageCommand == nil {
		o.ImageCommand = []string{"sleep", "2147483647"}
	}
	setDefault(&o.Addr, "127.0.0.1:0")
	setDefault(&o.ProxyAddr, "127.0.0.1:0")
	setDefault(&o.ProxyCut, 100*time.Second)
	setDefault(&o.StockEach, 16)
	setDefault(&o.Delays.Restart, 100*time.Millisecond)
	setDefault(&o.Delays.Stop, 10*time.Second)
	o.setCatalogue()
}

func (o *Options) setCatalogue() {
	if o.GPUs == nil {
		o.GPUs = DefaultGPUs()
	}
	if o.CPUs == nil {
		o.CPUs = defaultCPUs()
	}
	if o.DataCenters == nil {
		o.DataCenters = defaultDataCenters()
	}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
