// Package machine rents machines and never forgets one: a ledger on disk that is
// written before anything is rented, a driver that takes a provider's short steps
// to a running machine, leases, and a garbage collector that repairs what a crash
// left behind.
package machine

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"strings"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// Record is what Seer knows of one sandbox. It holds tokens and is stored with
// mode 0600.
type Record struct {
	Version int    `json:"version"`          // of this format
	ID      string `json:"id"`               // "sb-" and ten characters
	Name    string `json:"name,omitempty"`   // unique among live sandboxes; may be empty
	Builds  string `json:"builds,omitempty"` // what it was made to build for others; empty for a sandbox
	Owner   string `json:"owner"`            // of the ledger; see [Ledger.Owner]
	Key     string `json:"key"`              // one key, one machine

	Provider  string `json:"provider"`
	Account   string `json:"account,omitempty"`   // with which it was rented; see [Options].Account
	Handle    string `json:"handle,omitempty"`    // empty until the provider gave one
	Isolation string `json:"isolation,omitempty"` // as asked; then what it really got
	Network   string `json:"network,omitempty"`
	GPU       string `json:"gpu,omitempty"`
	GPUCount  int    `json:"gpu_count,omitempty"`
	GPUShare  string `json:"gpu_share,omitempty"` // of each GPU, in words; empty = whole GPUs
	Offer     string `json:"offer,omitempty"`     // the provider's own name for what was rented
	Region    string `json:"region,omitempty"`    // of the offer

	State    sdk.State `json:"state"`
	Message  string    `json:"message,omitempty"`  // why it is in this state, for people
	Released bool      `json:"released,omitempty"` // the provider has confirmed that nothing is left of it
	Ending   string    `json:"ending,omitempty"`   // why it is to be ended, where that has not succeeded yet

	// Attempts are the choices that gave no machine. What a provider still shows under
	// their keys is nobody's.
	Attempts []Attempt `json:"attempts,omitempty"`

	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	AskedAt   time.Time `json:"asked_at,omitzero"`  // when its provider was last asked to rent it; see [Options].Late
	RentedAt  time.Time `json:"rented_at,omitzero"` // when the provider gave the handle
	ReadyAt   time.Time `json:"ready_at,omitzero"`  // when the runtime's port could first be reached
	EndedAt   time.Time `json:"ended_at,omitzero"`
	ToldAt    time.Time `json:"told_at,omitzero"`  // when its provider has said yes to its end
	HardEnd   time.Time `json:"hard_end,omitzero"` // the machine ends by itself at the latest then
	Lease     Lease     `json:"lease"`

	Port        int            `json:"port,omitempty"` // the runtime's
	Endpoints   []sdk.Endpoint `json:"endpoints,omitempty"`
	Routes      []RoutedPort   `json:"routes,omitempty"`        // the ways to those that this computer carries
	CostPerHour float64        `json:"cost_per_hour,omitempty"` // USD
	MaxPrice    float64        `json:"max_price,omitempty"`     // USD per hour, as asked; 0 = any
	Budget      float64        `json:"budget,omitempty"`        // USD, as asked; 0 = no limit
	AdminToken  string         `json:"admin_token,omitempty"`   // gone once it has ended

	ExperimentFile string    `json:"experiment_file,omitempty"`
	Models         []Model   `json:"models,omitempty"`
	Services       []Service `json:"services,omitempty"`

	// Extra is the façade's own; this package keeps it as it is.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// Model is a model of a sandbox, or a dataset.
type Model struct {
	Name     string   `json:"name"`               // as the user wrote it
	Path     string   `json:"path"`               // in the sandbox
	Source   string   `json:"source,omitempty"`   // hub, folder or a scheme
	Local    string   `json:"local,omitempty"`    // where it is on this computer
	Revision string   `json:"revision,omitempty"` // pinned
	Repo     string   `json:"repo,omitempty"`     // its name at the Hub, as the Hub has it now; datasets/org/name of a dataset
	Ref      string   `json:"ref,omitempty"`      // revision as the user wrote it
	Absent   []string `json:"absent,omitempty"`   // files that clients of the Hub look for, and its repository has not
	Alias    string   `json:"alias,omitempty"`    // NAME@REVISION, beside another revision; empty = Name
	Dataset  bool     `json:"dataset,omitempty"`
	VarName  string   `json:"var_name,omitempty"`
	EnvName  string   `json:"env_name,omitempty"`
	Hidden   bool     `json:"hidden,omitempty"`
	IsPEFT   bool     `json:"is_peft,omitempty"`
	Base     string   `json:"base_model,omitempty"` // of an adapter, as the user wrote it
	License  string   `json:"license,omitempty"`    // as the source names it
	Gate     string   `json:"gate,omitempty"`       // how the source restricts access; empty = it does not
	Manifest string   `json:"manifest,omitempty"`   // digest of the list of its files; see models.Manifests
}

// Attempt is a choice that gave no machine.
type Attempt struct {
	Provider string `json:"provider"`
	Key      string `json:"key"`
	Handle   string `json:"handle,omitempty"`
	Label    string `json:"label"` // the choice, for people
	Why      string `json:"why"`
}

// attempt is what is kept of a choice that is given up.
func (r *Record) attempt(c *Choice, why error) Attempt {
	return Attempt{Provider: r.Provider, Key: r.Key, Handle: r.Handle, Label: c.label(), Why: oneLine(why)}
}

// Service is an interface that the sandbox serves.
type Service struct {
	Name       string          `json:"name"`
	File       string          `json:"file,omitempty"` // of the interface, on this computer
	ExposeAs   string          `json:"expose_as,omitempty"`
	OutDir     string          `json:"out_dir,omitempty"`    // where its surface was written
	Connection string          `json:"connection,omitempty"` // path of the connection file
	Token      string          `json:"token,omitempty"`      // can only call this service; gone once it has ended
	Interface  json.RawMessage `json:"interface,omitempty"`
	ServedAt   time.Time       `json:"served_at,omitzero"`
}

// recordVersion is the format written now; an older engine refuses a newer one.
const recordVersion = 1

// NewRecord makes a record with a fresh ID and key, not yet in any ledger.
func NewRecord() Record {
	return Record{Version: recordVersion, ID: "sb-" + randomText(10), Key: newKey(), State: sdk.Pending}
}

func newKey() string { return "seer-" + randomText(20) }

// Cost is what the sandbox has cost until now, in USD, as far as its price is
// known.
func (r *Record) Cost(now time.Time) float64 {
	began := r.RentedAt
	if began.IsZero() {
		began = r.ReadyAt
	}
	if !r.EndedAt.IsZero() && r.EndedAt.Before(now) {
		now = r.EndedAt
	}
	if began.IsZero() || now.Before(began) {
		return 0
	}
	return now.Sub(began).Hours() * r.CostPerHour
}

// Live reports whether the sandbox may still run or cost money.
func (r *Record) Live() bool { return r.State.Live() }

// Endpoint finds where a port is reached from this computer.
func (r *Record) Endpoint(port int) (url string, ok bool) {
	for _, e := range r.Endpoints {
		if e.Port == port {
			return e.URL, true
		}
	}
	return "", false
}

// Service finds a service by its name.
func (r *Record) Service(name string) (*Service, bool) {
	for i := range r.Services {
		if r.Services[i].Name == name {
			return &r.Services[i], true
		}
	}
	return nil, false
}

// SetService adds a service, or replaces the one of the same name.
func (r *Record) SetService(s Service) {
	if have, ok := r.Service(s.Name); ok {
		*have = s
		return
	}
	r.Services = append(r.Services, s)
}

// end marks the sandbox as ended. Its tokens open nothing any more, so they are
// not kept.
func (r *Record) end(state sdk.State, message string, now time.Time) {
	if r.Live() || r.EndedAt.IsZero() {
		r.EndedAt = now
	}
	r.State, r.Message = state, message
	r.AdminToken = ""
	for i := range r.Services {
		r.Services[i].Token = ""
	}
}

// randomText is n characters that are easy to read aloud and to type.
func randomText(n int) string {
	raw := make([]byte, n)
	_, _ = rand.Read(raw) // never fails; it ends the process instead
	return strings.ToLower(base32.StdEncoding.EncodeToString(raw))[:n]
}
