package local

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/protocol/parking"
	"github.com/seer-engine/seer/sdk"
)

// RestoreVariable is the variable in the Env of a spec by which a machine goes on with
// saved processes instead of starting a program: a [Restore] as JSON.
const RestoreVariable = "SEER_RESTORE"

// Restore says what a machine goes on with.
type Restore struct {
	Dir     string          `json:"dir"`     // that [Memory.SaveMemory] has filled; it is only read
	Renewal json.RawMessage `json:"renewal"` // what the runtime is told: protocol.Renewal
	// Share is the handle of the machine that was copied: the new one shares its GPUs. Empty
	// takes them for itself.
	Share string `json:"share,omitempty"`
}

// The parts of a folder with saved processes.
const (
	MemoryImages = "image" // of the processes
	MemoryTrees  = "trees" // NAME.tar of the folders that the machine may write to
	memoryNote   = "machine.json"
)

// Memory is what the provider of this computer can do beyond the contract.
type Memory interface {
	// SaveMemory fills the empty folder dir with the processes of a machine in gVisor and
	// the files that they may write. park has the machine parked under an ID and a key, and looking
	// for a sign of whoever asked (protocol.ParkRequest); thaw has it go on. Both are called
	// with a context that outlives ctx, and thaw in any case once park was, unless that was
	// [Refused]; after thaw has failed the files are not those of one moment. The machine
	// goes on, whatever happens.
	//
	// Processes on a GPU are parked without it. copies is how many are to go on at once beside
	// the original on the same GPU, which must have the memory for all; 0 = none.
	SaveMemory(ctx context.Context, handle, dir string, copies int, park func(ctx context.Context, id, key string) error, thaw func(context.Context) error) error
	// Fits says why what is in dir cannot go on here, and gives the spec to start it with:
	// it lacks a key, an owner, a name, an end and [RestoreVariable].
	Fits(ctx context.Context, dir string) (sdk.MachineSpec, error)
}

// Refused is the error of a machine that was not parked and will not be: it goes on as it
// did. After any other error it may have been.
type Refused struct{ Why error }

func (r *Refused) Error() string { return r.Why.Error() }
func (r *Refused) Unwrap() error { return r.Why }

// launch is what a machine in gVisor was started with. Its saved processes can only go on
// with the same.
type launch struct {
	Version  int               `json:"version"`
	Spec     sdk.MachineSpec   `json:"spec"`
	Argv     []string          `json:"argv"`
	Env      map[string]string `json:"env"`
	ReadOnly []string          `json:"read_only"`
	System   string            `json:"system,omitempty"` // digest of the image's tree
	Runtime  string            `json:"runtime"`          // digest of its binary
	ID       string            `json:"id,omitempty"`     // of the parking
	Key      string            `json:"key,omitempty"`    // of the parking
	Host     hostNote          `json:"host"`
}

// parkPatience is how long a machine may take to stand still.
const parkPatience = time.Minute

const launchName = "launch.json"

// parkNote is of a machine that makes its socket anew: one that does not prove itself with
// the key is somebody else's.
type parkNote struct {
	ID   string `json:"id"`
	Key  string `json:"key"`
	Copy bool   `json:"copy,omitempty"` // it goes on with the processes of another

	trusting bool // tests believe a socket without a proof
}

func (p *provider) SaveMemory(ctx context.Context, handle, dir string, copies int, park func(context.Context, string, string) error, thaw func(context.Context) error) (err error) {
	if !validHandle(handle) {
		return sdk.Errorf(sdk.Invalid, "%q is no machine of this computer", handle)
	}
	lock, err := p.lock(ctx, handle)
	if err != nil {
		return err
	}
	defer lock.Release()
	f := p.folder(handle)
	n, l, err := f.savable()
	if err != nil {
		return err
	}
	if l.Host, err = p.host(ctx); err != nil {
		return err
	}
	gpus, err := gpusToSave(ctx, p, n, copies)
	if err != nil {
		return err
	}
	return p.saveParked(ctx, &saving{p: p, f: f, n: n, gpus: gpus, id: newParkID(), key: parking.NewKey(), leave: func() {}}, dir, l, park, thaw)
}

// saveParked parks the machine, saves it and has it go on. A parking that was asked for is
// never left to itself: a ctx that ends only ends the work.
func (p *provider) saveParked(ctx context.Context, s *saving, dir string, l launch, park func(context.Context, string, string) error, thaw func(context.Context) error) (err error) {
	if err := goneOn(ctx, s.f, s.n.Parked); err != nil {
		return err
	}
	l.ID, l.Key = s.id, s.key
	s.n.Parked = &parkNote{ID: s.id, Key: s.key}
	if err := errors.Join(ctx.Err(), s.f.write(s.n)); err != nil {
		return err
	}
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), parkPatience+s.gpus.patience())
	err = park(patient, s.id, s.key)
	cancel()
	if refused := (*Refused)(nil); errors.As(err, &refused) {
		return errors.Join(err, s.normal())
	}
	defer func() {
		rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute+s.gpus.patience())
		defer cancel()
		err = errors.Join(err, s.goOn(rest), thaw(rest))
		s.leave()
	}()
	if err == nil {
		err = s.standIn()
	}
	if err == nil {
		err = s.stay()
	}
	if err == nil {
		err = errors.Join(s.parked(context.WithoutCancel(ctx)), ctx.Err())
	}
	if err == nil {
		l.Host.GPU, err = s.gpus.measure(ctx)
	}
	if err != nil {
		return err
	}
	return s.save(ctx, dir, l)
}

// savable refuses machines whose processes cannot be saved.
func (f folder) savable() (*note, launch, error) {
	n, err := f.read()
	switch {
	case err != nil:
		return nil, launch{}, err
	case n == nil || !f.lives(n):
		return nil, launch{}, sdk.Errorf(sdk.NotFound, "there is no such machine any more")
	case n.Isolation != isolation.GVisor:
		return nil, launch{}, sdk.Errorf(sdk.Unsupported, "the processes of a sandbox in isolation %s cannot be saved; start it with isolation: gvisor", n.Isolation)
	}
	l, err := readLaunch(f.path(launchName))
	if errors.Is(err, fs.ErrNotExist) {
		err = sdk.Errorf(sdk.Unsupported, "this sandbox was started by an older version, which did not note what is needed to continue it")
	}
	if err == nil && l.Spec.Network != "none" && l.Spec.Network != "hosts" {
		err = sdk.Errorf(sdk.Unsupported, "the processes of a sandbox with the network open cannot be saved: its connections are this computer's own; start it with network: none, or with a list of hosts")
	}
	return n, l, err
}

func readLaunch(path string) (launch, error) {
	var l launch
	data, err := os.ReadFile(path)
	if err != nil {
		return l, err
	}
	if err := json.Unmarshal(data, &l); err != nil || l.Version != 1 {
		return l, sdk.Errorf(sdk.Invalid, "%s cannot be read: it is damaged, or of another version", path)
	}
	return l, nil
}
