package service

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

// Ledger is what services need of the ledger.
type Ledger interface {
	Get(id string) (machine.Record, error)
	Update(ctx context.Context, id string, change func(*machine.Record) error) (machine.Record, error)
}

// Host is what services need of the sandbox that serves them. All fields must be set.
type Host struct {
	ID      string // of the sandbox
	Runtime *client.Client
	Ledger  Ledger
	Now     func() time.Time

	CheckMode func(ctx context.Context, mode string) error // that there is such an expose mode
	Expose    func(ctx context.Context, mode string, req sdk.ExposeRequest) (sdk.Surface, error)
	CheckFile func(ctx context.Context, name, file string) error // that an agent may read the interface
	Opened    func(*client.Client)                               // has a client of a service closed with the sandbox
}

// Options say what to serve.
type Options struct {
	File        string // the interface on this computer
	Name        string // default: the file's stem
	ExposeAs    string // noted in the ledger; see [Service.Expose]
	LoadTimeout int64  // seconds; 0 = 1800
	Limits      protocol.Limits
	Record      bool // every call stays in the journal until it has been read; see [client.Services.Journal]
	InPlace     bool // a worker that runs takes the edited file over, if that is safe; see [Service.InPlace]
	Progress    event.Func
}

// OptionsOf is how an experiment wants an interface served.
func OptionsOf(s experiment.Serve) Options {
	return Options{File: s.File, Name: s.Name, ExposeAs: s.ExposeAs, Limits: protocol.Limits{
		KeepSeconds: s.Limits.Keep.Seconds(), KeepCalls: s.Limits.KeepCalls, KeepBytes: gibibytes(s.Limits.KeepSize),
		HandleSeconds: s.Limits.HandleKeep.Seconds(), HandleCount: s.Limits.Handles, HandleBytes: gibibytes(s.Limits.HandleSize),
		Queue: s.Limits.Queue,
	}}
}

func gibibytes(n float64) int64 { return int64(n * (1 << 30)) }

// Serve loads an interface in a worker of its own and returns when its functions
// can be called. Serving a name again replaces it once the new version has
// loaded; connections made for the old one go on working. An interface that does
// not load is a [*LoadError] with the user's own traceback.
func (h Host) Serve(ctx context.Context, o Options) (*Service, error) {
	name, err := o.name()
	if err != nil {
		return nil, err
	}
	if o.ExposeAs != "" { // before a load that may take minutes
		if err := h.CheckMode(ctx, o.ExposeAs); err != nil {
			return nil, errdefs.Wrap(errdefs.KindPlugin, err)
		}
	}
	rec, err := h.Ledger.Get(h.ID)
	if err != nil {
		return nil, errdefs.Wrap(errdefs.KindNotFound, err)
	}
	if err := h.CheckFile(ctx, name, o.File); err != nil {
		return nil, err
	}
	spec := Spec{Sandbox: h.ID, Endpoint: h.Runtime.Endpoint(), Name: name, File: o.File, LoadTimeout: time.Duration(o.LoadTimeout) * time.Second,
		Limits: o.Limits, Record: o.Record, InPlace: o.InPlace}
	if before, ok := rec.Service(name); ok {
		spec.Token = before.Token
	}
	report := event.NewReporter("", event.SourceEngine, h.Now, o.Progress)
	report.Send(event.ServiceLoading{File: o.File, Service: name})
	loaded, err := Load(ctx, h.Runtime, spec)
	if err != nil {
		return nil, errdefs.Wrap(errdefs.KindService, err)
	}
	if err := h.note(ctx, name, o, loaded); err != nil {
		return nil, err
	}
	report.Send(event.ServiceReady{Service: name, Functions: len(loaded.Interface.Functions)})
	v, err := h.open(loaded.Connection, loaded.Interface)
	if err == nil {
		v.inPlace = loaded.InPlace
	}
	return v, err
}

// note puts the service into the ledger.
func (h Host) note(ctx context.Context, name string, o Options, loaded Loaded) error {
	face, err := json.Marshal(loaded.Interface)
	if err != nil {
		return errdefs.Wrap(errdefs.KindInternal, err)
	}
	_, err = h.Ledger.Update(ctx, h.ID, func(r *machine.Record) error {
		r.SetService(machine.Service{
			Name: name, File: o.File, ExposeAs: o.ExposeAs, Token: loaded.Connection.Token, Interface: face, ServedAt: h.Now(),
		})
		return nil
	})
	return errdefs.Wrap(errdefs.KindInternal, err)
}

// Service finds an interface that the sandbox serves.
func (h Host) Service(name string) (*Service, error) {
	rec, err := h.Ledger.Get(h.ID)
	if err != nil {
		return nil, errdefs.Wrap(errdefs.KindNotFound, err)
	}
	have, ok := rec.Service(name)
	if !ok {
		names := make([]string, len(rec.Services))
		for i, s := range rec.Services {
			names[i] = s.Name
		}
		return nil, &errdefs.Error{Kind: errdefs.KindNotFound, Err: fmt.Errorf("the sandbox %s serves nothing named %q; it serves %s", h.ID, name, listOr("nothing", names))}
	}
	var face sdk.Interface
	if err := json.Unmarshal(have.Interface, &face); err != nil {
		return nil, errdefs.Wrap(errdefs.KindInternal, err)
	}
	return h.open(client.Connection{
		Version: client.ConnectionVersion, Sandbox: h.ID, Service: name, Endpoint: h.Runtime.Endpoint(), Token: have.Token,
	}, face)
}

func (h Host) open(c client.Connection, face sdk.Interface) (*Service, error) {
	c = c.Mended(h.Runtime)
	caller, err := c.Client()
	if err != nil {
		return nil, err
	}
	h.Opened(caller)
	return &Service{host: h, connection: c, face: face, client: caller}, nil
}

var identifier = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// name is the name that the interface is served under.
func (o Options) name() (string, error) {
	name := o.Name
	if name == "" {
		base := filepath.Base(o.File)
		name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	if !identifier().MatchString(name) {
		return "", configErrorf("%q cannot be the name of a service: it becomes a Python module; use letters, digits and _", name)
	}
	if o.ExposeAs == "library" { // which such a name would make useless: nothing could import it
		if problem, hint := experiment.ServeName(name); problem != "" {
			return "", configErrorf("name: %s; %s", problem, hint)
		}
	}
	return name, nil
}

func configErrorf(format string, args ...any) error {
	return &errdefs.Error{Kind: errdefs.KindConfig, Err: fmt.Errorf(format, args...)}
}

func listOr(none string, items []string) string {
	if len(items) == 0 {
		return none
	}
	return strings.Join(items, ", ")
}
