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
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local/internal/treetar"
	"github.com/seer-engine/seer/engine/machine/local/watchdog"
	"github.com/seer-engine/seer/engine/protocol/parking"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// saving is one saving of a machine's processes.
type saving struct {
	p       *provider
	f       folder
	n       *note
	gpus    *gpuSaving // nil = it has none
	id, key string

	instead *net.UnixListener // while the machine does not listen
	leave   func()            // ends [saving.stay]
}

// savedTrees are the folders that are saved with the processes.
var savedTrees = [...]string{"workspace", "home", "tmp", "scratch"}

// signEvery is how often the machine is shown that it is still being saved.
const signEvery = time.Second

// stay shows the machine that somebody will have it go on. The file's name is only there
// while nothing in the machine moves that could make use of it.
func (s *saving) stay() error {
	f, err := os.OpenFile(s.file("here"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(signEvery)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case now := <-tick.C:
				at := unix.NsecToTimeval(now.UnixNano())
				_ = unix.Futimes(int(f.Fd()), []unix.Timeval{at, at}) // a full disk does not matter to it
			}
		}
	}()
	s.leave = sync.OnceFunc(func() {
		close(end)
		<-ended
		_, _ = f.Close(), os.Remove(s.file("here"))
	})
	return nil
}

// normal notes that the machine's socket is the one that is known outside.
func (s *saving) normal() error {
	s.n.Parked = nil
	return s.f.write(s.n)
}

// before is added to the name of the socket that a parked machine had: it keeps it if it
// never lets go of it.
const before = watchdog.Before

// standIn listens in the place of the machine, so that who comes meanwhile waits, and does
// not take the machine for one that has ended.
func (s *saving) standIn() error {
	name := filepath.Join(s.f.path("socket"), "s")
	for _, old := range []string{name + before, name + ".in"} {
		if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Link(name, name+before); err != nil {
		return err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.f.socket() + ".in", Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	if err := os.Rename(name+".in", name); err != nil {
		return errors.Join(err, l.Close())
	}
	s.instead = l
	return nil
}

// takeSocket gives the machine's new socket the name that is known outside.
func (s *saving) takeSocket() bool {
	name := filepath.Join(s.f.path("socket"), "s")
	if !isSocket(filepath.Join(s.f.path("run"), "s")) {
		return false
	}
	if took, err := s.f.asking(s.n.Parked); err != nil || !took {
		return false
	}
	_ = os.Remove(name + before)
	return answers(s.f.socket())
}

// owns says why a socket, which has a short address, is not the runtime's: that is the one
// which it had under the name, or one that it has made meanwhile and proves to be its own.
func (p *parkNote) owns(socket, address, name string) error {
	switch {
	case sameFile(socket, name+before):
		return nil
	case p.trusting:
		return nil
	}
	return parking.Ask(context.Background(), address, p.Key, p.ID)
}

func (s *saving) file(kind string) string { return filepath.Join(s.f.path("run"), kind+"-"+s.id) }

// hasLeft reports whether the machine has let go of its sockets.
func (s *saving) hasLeft() bool { _, err := os.Lstat(s.file("park")); return err == nil }

// parked waits until it has.
func (s *saving) parked(ctx context.Context) error {
	if until(ctx, 30*time.Second, s.hasLeft) {
		return nil
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
		return state.NoSpace(dir, err)
	}
	for _, name := range savedTrees {
		if err := treetar.Pack(ctx, s.f.path(name), filepath.Join(dir, MemoryTrees, name+".tar")); err != nil {
			return state.NoSpace(dir, fmt.Errorf("save the files in %s: %w", name, err))
		}
	}
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return state.WriteFile(filepath.Join(dir, memoryNote), data, 0o600)
}

// goOn has the machine listen again and takes the new socket.
func (s *saving) goOn(ctx context.Context) error {
	defer func() {
		if s.instead != nil {
			_ = s.instead.Close() // who waited there comes again
		}
	}()
	var err error
	switch left := s.hasLeft(); {
	case left:
		if err = state.WriteFile(s.file("go"), parking.Seal(s.key, s.id, []byte(`{"copy":false}`)), 0o600); err != nil {
			s.leave() // then it goes on by itself
		}
	case s.instead == nil:
		return nil // it was not parked
	}
	back := until(ctx, 45*time.Second, s.takeSocket)
	_ = os.Remove(s.file("go"))
	if !back {
		return errors.Join(err, sdk.Errorf(sdk.Unavailable, "the machine does not listen again; see its log"))
	}
	return errors.Join(err, s.normal())
}

// unparkPatience is how long a machine that was parked may take to listen again.
const unparkPatience = 30 * time.Second

// unpark waits for a machine that does not listen because it is being saved, and has one go
// on whose saver was killed, by tell.
func unpark(ctx context.Context, f folder, parked *parkNote, tell func(*saving) (bool, error)) (seen sdk.State, err error) {
	s := &saving{f: f, id: parked.ID, key: parked.Key}
	told := false
	until(ctx, unparkPatience, func() bool {
		if !told && s.hasLeft() {
			told, err = tell(s)
		}
		if err == nil {
			seen, err = f.reach(parked)
		}
		return err != nil || seen == sdk.Running
	})
	return seen, err
}

// goneOn waits until nothing of an earlier parking is left. The machine proves itself with the
// key of that one, and the note of the next parking replaces it. The machine's lock is held.
func goneOn(ctx context.Context, f folder, parked *parkNote) error {
	if parked == nil {
		return nil
	}
	seen, err := unpark(ctx, f, parked, (*saving).tellGone)
	if err == nil && seen != sdk.Running {
		err = sdk.Errorf(sdk.Unavailable, "the machine has not gone on since it was last saved; see its log")
	}
	return err
}

// tellGone has the machine go on unless somebody still saves it.
func (p *provider) tellGone(handle string, s *saving) (told bool, err error) {
	lock, held, err := state.TryAcquire(p.lockPath(handle))
	if err != nil || held {
		return false, err
	}
	defer lock.Release()
	return s.tellGone()
}

// tellGone is for whoever holds the machine's lock.
func (s *saving) tellGone() (told bool, err error) {
	if !s.hasLeft() {
		return false, nil
	}
	_ = os.Remove(s.file("here"))
	return true, state.WriteFile(s.file("go"), parking.Seal(s.key, s.id, []byte(`{"copy":false,"thaw":true}`)), 0o600)
}
