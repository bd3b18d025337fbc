// Package inventory finds, lists, shows and ends the sandboxes that the ledger has.
package inventory

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/gpulease"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/models"
	"github.com/seer-engine/seer/engine/provision"
	"github.com/seer-engine/seer/engine/session"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/text"
	"github.com/seer-engine/seer/sdk"
)

const (
	askTimeout      = 5 * time.Second // for a sandbox that is asked about itself
	shutdownTimeout = 2 * time.Second // for a sandbox that ends by itself, before its provider ends it
)

// Inventory is all sandboxes of one ledger. All fields must be set.
type Inventory struct {
	Ledger  *machine.Ledger
	Driver  *machine.Driver
	Plugins Plugins
	// Connect makes the way to a machine of the ledger.
	Connect func(machine.Record) (provision.Machine, error)
	Store   *state.Store // where pages of sandboxes are
	// Manifests list the files of models and datasets.
	Manifests models.Manifests
	Now       func() time.Time
}

// Plugins is what the inventory needs of the providers.
type Plugins interface {
	Native(provider string) bool // looking at its machines costs nothing
	SawExperiment(file string)   // whose folder may have credentials
	Provider(ctx context.Context, name string) (sdk.Provider, error)
}

// Find resolves an ID, an unambiguous beginning of it, or a name, and, where that costs
// nothing, sees how the sandbox is. The sandbox may have ended.
func (i *Inventory) Find(ctx context.Context, ref string) (machine.Record, error) {
	r, err := i.Ledger.Resolve(ref)
	if err != nil {
		return r, errdefs.Wrap(errdefs.KindNotFound, err)
	}
	if !r.Live() || !i.Plugins.Native(r.Provider) {
		return r, nil
	}
	all, err := i.Driver.Refresh(ctx, r.Provider)
	for _, fresh := range all {
		if fresh.ID == r.ID {
			return fresh, nil
		}
	}
	return r, errdefs.Wrap(errdefs.KindProvider, err)
}

// Open connects to a live sandbox. One that has ended is [errdefs.KindNotFound]. The caller
// closes the machine.
func (i *Inventory) Open(ctx context.Context, ref string) (provision.Machine, error) {
	r, err := i.Find(ctx, ref)
	if err != nil {
		return provision.Machine{}, err
	}
	if !r.Live() {
		return provision.Machine{}, &errdefs.Error{Kind: errdefs.KindNotFound, Err: fmt.Errorf("the sandbox %s has ended: %s", r.ID, cmp.Or(r.Message, string(r.State)))}
	}
	if err := session.CheckReady(r); err != nil {
		return provision.Machine{}, err
	}
	return i.Connect(r)
}

// List is all sandboxes, the oldest first. Native providers are asked how theirs are; those
// of plugins only with refresh, and otherwise shown as they were last seen. The error tells
// which provider could not be asked; the list is returned nevertheless.
func (i *Inventory) List(ctx context.Context, refresh bool) ([]Info, error) {
	records, err := i.Ledger.List()
	var ask []string
	for _, r := range records {
		if r.Live() && (refresh || i.Plugins.Native(r.Provider)) {
			ask = append(ask, r.Provider)
		}
	}
	if len(ask) > 0 {
		records, err = i.Driver.Refresh(ctx, ask...)
	}
	return i.infos(records), errdefs.Wrap(errdefs.KindProvider, err)
}

func (i *Inventory) infos(records []machine.Record) []Info {
	infos := []Info{}
	for _, r := range records {
		infos = append(infos, infoOf(r, i.Now()))
	}
	return infos
}

// Show tells everything about one sandbox, also one that has ended. A live one is asked
// itself about its lease and services.
func (i *Inventory) Show(ctx context.Context, ref string) (Info, error) {
	r, err := i.Find(ctx, ref)
	if err != nil {
		return Info{}, err
	}
	info := infoOf(r, i.Now())
	handle := session.HandleOf(r)
	info.Environment = &handle
	i.addFiles(&info)
	info.GPUUse, info.GPUUsers = i.gpuUse(ctx, r), i.gpuUsers(ctx, r)
	if r.State != sdk.Running {
		return info, nil
	}
	m, err := i.Connect(r)
	if err != nil {
		return info, nil
	}
	defer m.Close()
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	h, err := m.Client.Health(ctx)
	if err != nil {
		info.Message = err.Error()
		return info, nil
	}
	info.Lease.Ends = h.Lease.Ends(i.Now())
	for n := range info.Services {
		info.Services[n].State = cmp.Or(string(h.Services[info.Services[n].Name]), "stopped")
	}
	return info, nil
}

// gpus asks about the GPUs of a sandbox of this computer; nil = it has none.
func (i *Inventory) gpus(ctx context.Context, r machine.Record) local.GPUs {
	if r.GPU == "" || r.Provider != local.Name || r.Handle == "" {
		return nil
	}
	p, err := i.Plugins.Provider(ctx, r.Provider)
	gpus, ok := p.(local.GPUs)
	if err != nil || !ok {
		return nil
	}
	return gpus
}

// gpuUsers says of each GPU of a live sandbox who uses it; none where the driver does not answer.
func (i *Inventory) gpuUsers(ctx context.Context, r machine.Record) (users []string) {
	gpus := i.gpus(ctx, r)
	if gpus == nil || !r.Live() {
		return nil
	}
	uses, _, err := gpus.GPUUses(ctx, sdk.MachineSpec{})
	if err != nil {
		return nil
	}
	for _, u := range uses {
		own := func(c gpulease.Claimed) bool {
			return c.UID == os.Getuid() && (c.Sandbox == r.ID || c.Sandbox == r.Name)
		}
		if slices.ContainsFunc(u.Claims, own) {
			users = append(users, fmt.Sprintf("%s, %s of %s free, used by: %s", u.Label(), text.Bytes(u.Free()), text.Bytes(u.Memory), u.By()))
		}
	}
	return users
}

// gpuUse is what this computer's provider has seen; nil where it has seen nothing.
func (i *Inventory) gpuUse(ctx context.Context, r machine.Record) *GPUUse {
	gpus := i.gpus(ctx, r)
	if gpus == nil {
		return nil
	}
	memory, peak, ok := gpus.GPUMemory(r.Handle)
	if !ok {
		return nil
	}
	return &GPUUse{memory, peak, i.Now().Sub(r.RentedAt).Seconds() * float64(max(1, r.GPUCount))}
}

// addFiles tells which files models and datasets have. What is no longer known is left out.
func (i *Inventory) addFiles(info *Info) {
	add := func(p *Provenance) {
		if m, err := i.Manifests.Load(p.Manifest); err == nil {
			p.Files = m.Files
		}
	}
	for n := range info.Models {
		add(&info.Models[n].Provenance)
	}
	for n := range info.Datasets {
		add(&info.Datasets[n].Provenance)
	}
}

// Terminate ends a sandbox and everything in it. It is idempotent.
func (i *Inventory) Terminate(ctx context.Context, ref string) error {
	r, err := i.Ledger.Resolve(ref)
	if err != nil {
		return errdefs.Wrap(errdefs.KindNotFound, err)
	}
	i.Plugins.SawExperiment(r.ExperimentFile)
	r = i.Driver.Recognize(ctx, r)
	if r.Live() {
		i.shutDown(ctx, r)
	}
	if _, err = i.Driver.End(ctx, r, "ended by the user"); err != nil {
		return errdefs.Wrap(errdefs.KindProvider, err)
	}
	return errdefs.Wrap(errdefs.KindInternal, i.Store.RemovePageDir(r.ID))
}

// shutDown asks the runtime to end, so that it flushes its logs. The provider ends the
// machine in any case.
func (i *Inventory) shutDown(ctx context.Context, r machine.Record) {
	m, err := i.Connect(r)
	if err != nil {
		return
	}
	defer m.Close()
	ctx, cancel := context.WithTimeout(ctx, shutdownTimeout)
	defer cancel()
	_ = m.Client.Shutdown(ctx)
}

// EndOverdue ends the rented machines that have not ended by themselves at the end that was
// set for them, and tells which. Machines of this computer have a program that does it.
func (i *Inventory) EndOverdue(ctx context.Context) ([]Info, error) {
	ended, err := i.Driver.EndOverdue(ctx, func(provider string) bool { return provider != local.Name })
	return i.infos(ended), errdefs.Wrap(errdefs.KindProvider, err)
}

// SaveImage saves the file system of a running sandbox at its provider, and returns the
// provider's name of it.
func (i *Inventory) SaveImage(ctx context.Context, ref string, report event.Reporter) (string, error) {
	r, err := i.Find(ctx, ref)
	if err != nil {
		return "", err
	}
	report.Send(event.ImageSaving{Sandbox: r.ID})
	image, err := i.Driver.Snapshot(ctx, r, func(ev machine.Event) {
		if ev.Kind == machine.EventLog {
			report.Output(event.StageMachine, ev.Text)
		} else {
			report.Send(event.MachineMessage{Message: ev.Text})
		}
	})
	if err == nil {
		report.Send(event.ImageSaved{Image: image})
	}
	return image, errdefs.Wrap(errdefs.KindProvider, err)
}
