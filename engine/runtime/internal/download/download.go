// Package download has the machine download files by itself. The engine lists them, and
// answers with the location of each one when the machine asks for it.
package download

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/engine/transfer"
	"github.com/seer-engine/seer/sdk"
)

// atOnce is how many files are in work at once. The program that knows the
// locations answers a request for each.
const atOnce = 16

// download is one that was asked for.
type download struct {
	spec   protocol.DownloadSpec
	dir    string // where it really is
	own    string // remembers what has been verified
	cancel context.CancelFunc
	ended  chan struct{}

	mu       sync.Mutex
	changed  chan struct{} // closed, and made anew, when something is wanted or it has ended
	progress transfer.Progress
	wanted   map[string]chan sdk.Location
	state    protocol.DownloadState
	err      error
}

func start(spec protocol.DownloadSpec, dir, own string, end func()) *download {
	ctx, cancel := context.WithCancel(context.Background())
	d := &download{
		spec: spec, dir: dir, own: own, cancel: cancel, ended: make(chan struct{}), changed: make(chan struct{}),
		wanted: map[string]chan sdk.Location{}, state: protocol.DownloadRunning,
	}
	go func() {
		defer close(d.ended)
		defer end()
		err := d.run(ctx)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.err, d.state = err, protocol.DownloadDone
		if err != nil {
			d.state = protocol.DownloadFailed
		}
		d.wake()
	}()
	return d
}

// stop ends a download and waits for its last write.
func (d *download) stop() {
	d.cancel()
	<-d.ended
}

func (d *download) run(ctx context.Context) error {
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return err
	}
	o := transfer.Options{Files: atOnce, Tries: d.spec.Tries, Progress: func(p transfer.Progress) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.progress = p
	}}
	if s := d.spec.Store; s != nil {
		return d.store(ctx, *s, o)
	}
	var plan []transfer.File
	for _, f := range d.spec.Files {
		plan = append(plan, transfer.File{Path: f.Path, Size: f.Size, SHA256: f.SHA256, GitSHA1: f.GitSHA1})
	}
	o.Dir, o.Renew = d.dir, d.ask
	o.Doubt = true // the folder may be on a volume that others write
	if err := transfer.Download(ctx, plan, o); err != nil {
		return err
	}
	for _, f := range d.spec.Files {
		if err := d.finish(f); err != nil {
			return err
		}
	}
	return nil
}

// ask waits until somebody says where a file is.
func (d *download) ask(ctx context.Context, f transfer.File) (transfer.Source, error) {
	d.mu.Lock()
	answer := make(chan sdk.Location, 1)
	d.wanted[f.Path] = answer
	d.wake()
	d.mu.Unlock()
	select {
	case at := <-answer:
		return transfer.Located(at, f.Size, time.Now())
	case <-ctx.Done():
		return transfer.Source{}, ctx.Err()
	}
}

// locate answers ask. Of a file that nobody waits for, the answer comes late, or twice.
func (d *download) locate(at protocol.DownloadLocation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if answer, ok := d.wanted[at.Path]; ok {
		answer <- at.Location
		delete(d.wanted, at.Path)
	}
}

// wake tells those that wait. d.mu is held.
func (d *download) wake() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// finish makes a verified file what it is to be. It may be called again.
func (d *download) finish(f protocol.DownloadFile) error {
	path := filepath.Join(d.dir, filepath.FromSlash(f.Path))
	if err := os.Chmod(path, 0o644); err != nil {
		return err
	}
	if len(f.Prefix) > 0 {
		if err := overwrite(path, f.Prefix); err != nil {
			return err
		}
	}
	for at := filepath.Dir(path); ; at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil && !errors.Is(err, fs.ErrPermission) { // a folder of somebody else's
			return err
		}
		if at == d.dir || len(at) < len(d.dir) {
			break
		}
	}
	if f.MtimeUnix == 0 {
		return nil
	}
	return os.Chtimes(path, time.Unix(f.MtimeUnix, 0), time.Unix(f.MtimeUnix, 0))
}

func overwrite(path string, prefix []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(prefix, 0)
	return errors.Join(err, f.Sync(), f.Close())
}

// describe waits until something is wanted, the download has ended or ctx has.
func (d *download) describe(ctx context.Context) protocol.Download {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.state == protocol.DownloadRunning && len(d.wanted) == 0 && ctx.Err() == nil {
		changed := d.changed
		d.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		d.mu.Lock()
	}
	said := protocol.Download{
		State: d.state, Done: d.progress.Done, Total: d.progress.Total, Rate: d.progress.Rate, LeftSeconds: d.progress.Left.Seconds(),
	}
	for path := range d.wanted {
		said.Wanted = append(said.Wanted, path)
	}
	slices.Sort(said.Wanted)
	if d.err != nil {
		said.Error = failure(d.err)
	}
	return said
}

// failure is an error of package transfer as the protocol tells it.
func failure(err error) *protocol.Error {
	code := protocol.Failed
	switch {
	case errors.Is(err, state.ErrNoSpace):
		code = protocol.NoSpace
	case errors.Is(err, transfer.ErrMismatch):
	case sdk.CodeOf(err) == sdk.Unavailable, sdk.CodeOf(err) == sdk.RateLimited:
		code = protocol.Unavailable
	case sdk.CodeOf(err) == sdk.Invalid:
		code = protocol.Invalid
	}
	return protocol.Errorf(code, "%v", err)
}
