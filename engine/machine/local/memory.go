package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// RestoreVariable is the variable in the Env of a spec by which a machine goes on with
// saved processes instead of starting a program: a [Restore] as JSON.
const RestoreVariable = "SEER_RESTORE"

// Restore says what a machine goes on with.
type Restore struct {
	Dir     string          `json:"dir"`     // that [Memory.SaveMemory] has filled; it is only read
	Renewal json.RawMessage `json:"renewal"` // what the runtime is told: protocol.Renewal
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
	// the files that they may write. park has the machine parked under an ID, thaw has it
	// go on; it is called in any case once park was, and after it has failed the files are
	// not those of one moment. The machine goes on, whatever happens.
	SaveMemory(ctx context.Context, handle, dir string, park func(ctx context.Context, id string) error, thaw func(context.Context) error) error
	// Fits says why what is in dir cannot go on here, and gives the spec to start it with:
	// it lacks a key, an owner, a name, an end and [RestoreVariable].
	Fits(ctx context.Context, dir string) (sdk.MachineSpec, error)
}

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
	Host     hostNote          `json:"host"`
}

// parkLimit is protocol.ParkLimit: the latest that a parked machine makes its socket anew.
const parkLimit = 2 * time.Minute

const launchName = "launch.json"

// parkNote says when a machine made its socket anew: one made later is somebody else's.
type parkNote struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
}

func (p *provider) SaveMemory(ctx context.Context, handle, dir string, park func(context.Context, string) error, thaw func(context.Context) error) (err error) {
	if !validHandle(handle) {
		return sdk.Errorf(sdk.Invalid, "%q is no machine of this computer", handle)
	}
	lock, err := p.lock(ctx, handle)
	if err != nil {
		return err
	}
	defer lock.Release()
	f := p.folder(handle)
	n, l, err := p.savable(f)
	if err != nil {
		return err
	}
	if l.Host, err = p.host(ctx); err != nil {
		return err
	}
	s := &saving{p: p, f: f, n: n, id: newParkID()}
	l.ID = s.id
	n.Parked = &parkNote{From: time.Now(), Until: time.Now().Add(parkLimit)}
	if err := f.write(n); err != nil {
		return err
	}
	if err := park(ctx, s.id); err != nil {
		return err
	}
	defer func() {
		rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, s.goOn(rest), thaw(rest))
	}()
	n.Parked.Until = time.Now().Add(parkLimit)
	if err := f.write(n); err != nil {
		return err
	}
	if err := s.parked(ctx); err != nil {
		return err
	}
	if err := s.standIn(); err != nil {
		return err
	}
	return s.save(ctx, dir, l)
}

// savable refuses machines whose processes cannot be saved.
func (p *provider) savable(f folder) (*note, launch, error) {
	n, err := f.read()
	switch {
	case err != nil:
		return nil, launch{}, err
	case n == nil || !p.lives(f, n):
		return nil, launch{}, sdk.Errorf(sdk.NotFound, "there is no such machine any more")
	case n.Isolation != isolation.GVisor:
		return nil, launch{}, sdk.Errorf(sdk.Unsupported, "the processes of a sandbox in isolation %s cannot be saved; start it with isolation: gvisor", n.Isolation)
	case len(n.GPUs) > 0:
		return nil, launch{}, sdk.Errorf(sdk.Unsupported, "the processes of a sandbox with a GPU cannot be saved, because what lies on the GPU is not theirs")
	}
	l, err := readLaunch(f.path(launchName))
	if errors.Is(err, fs.ErrNotExist) {
		err = sdk.Errorf(sdk.Unsupported, "this sandbox was started by an older version, which did not note what is needed to continue it")
	}
	if err == nil && !ownNetwork(&l.Spec) {
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

// saving is one saving of a machine's processes.
type saving struct {
	p  *provider
	f  folder
	n  *note
	id string

	instead *net.UnixListener // while the machine does not listen
}

// standIn listens in the place of the machine, so that who comes meanwhile waits, and does
// not take the machine for one that has ended.
func (s *saving) standIn() error {
	if err := os.Remove(filepath.Join(s.f.path("socket"), "s")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.f.socket(), Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	s.instead = l
	return nil
}

// takeSocket gives the machine's new socket the name that is known outside.
func (s *saving) takeSocket() bool {
	name := filepath.Join(s.f.path("socket"), "s")
	inside, part := filepath.Join(s.f.path("run"), "s"), name+".new"
	if !isSocket(inside) {
		return false
	}
	_ = os.Remove(part)
	if os.Link(inside, part) != nil || !isSocket(part) || !s.n.Parked.made(part) || os.Rename(part, name) != nil {
		_ = os.Remove(part)
		return false
	}
	return answers(s.f.socket())
}

func (s *saving) file(kind string) string { return filepath.Join(s.f.path("run"), kind+"-"+s.id) }

// parked waits until the machine has let go of its sockets.
func (s *saving) parked(ctx context.Context) error {
	there := func() bool { _, err := os.Lstat(s.file("park")); return err == nil }
	if until(ctx, 30*time.Second, there) {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return sdk.Errorf(sdk.Unavailable, "the machine did not let go of its sockets; the reason is in its log")
}

func (s *saving) save(ctx context.Context, dir string, l launch) error {
	for _, name := range []string{MemoryImages, MemoryTrees} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return err
		}
	}
	err := isolation.Checkpoint(ctx, s.f.path("gvisor"), filepath.Join(dir, MemoryImages), true)
	if sdk.CodeOf(err) == sdk.Unavailable {
		return fmt.Errorf("%w; end the program that has it (it listens on a Unix socket below /workspace, /tmp or the home)", err)
	}
	if err != nil {
		return noSpace(dir, err)
	}
	for _, name := range savedTrees {
		if err := packTree(ctx, s.f.path(name), filepath.Join(dir, MemoryTrees, name+".tar")); err != nil {
			return noSpace(dir, fmt.Errorf("save the files in %s: %w", name, err))
		}
	}
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return state.WriteFile(filepath.Join(dir, memoryNote), data, 0o600)
}

// goOn has the machine listen again and takes the new socket. Nothing but the runtime
// moves in it yet, so that it is nobody else's.
func (s *saving) goOn(ctx context.Context) error {
	if err := state.WriteFile(s.file("go"), []byte(`{"copy":false}`), 0o600); err != nil {
		return err // it goes on by itself after a while
	}
	back := until(ctx, 45*time.Second, s.takeSocket)
	if s.instead != nil {
		_ = s.instead.Close() // who waited there comes again
	}
	_ = os.Remove(s.file("go"))
	if !back {
		return sdk.Errorf(sdk.Unavailable, "the machine does not listen again; see its log")
	}
	return nil
}
