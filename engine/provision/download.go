package provision

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seer-engine/seer/engine/blinding"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/fetch/hubcache"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/safetensors"
	"github.com/seer-engine/seer/sdk"
)

const (
	locating  = 8           // locations that are asked for at once
	reporting = time.Second // the pause between two reports of progress
	attempts  = 3           // to reach a host at first; some seconds, then the files go through this computer
)

// downloadModels has the machine download the models that are not on this computer. What it
// cannot reach goes through this computer.
func (s *start) downloadModels(ctx context.Context) error {
	for i := range s.Models {
		remote := s.remote(i)
		if remote == nil {
			continue
		}
		d := &modelDownload{start: s, model: s.Models[i], remote: remote, id: fmt.Sprintf("model-%d", i)}
		err := d.run(ctx)
		var unreachable *unreachableError
		if errors.As(err, &unreachable) && !d.blinded() {
			s.Report.Send(event.ModelThroughHere{Model: d.model.Name, Reason: err.Error()})
			err = s.sendThroughHere(ctx, d.model, remote)
		}
		if err != nil {
			return fmt.Errorf("download the model %s to the machine: %w", d.model.Name, err)
		}
	}
	return nil
}

func (s *start) sendThroughHere(ctx context.Context, m machine.Model, remote *RemoteModel) (err error) {
	if m.Local, err = remote.Bring(ctx); err != nil {
		return err
	}
	return s.sendModel(ctx, m)
}

// unreachableError says that the machine has not got a byte.
type unreachableError struct{ error }

func (e *unreachableError) Unwrap() error { return e.error }

// modelDownload is the download of one model by the machine. The machine has no credential:
// it asks for the location of each file, and again when that has expired.
type modelDownload struct {
	*start
	model  machine.Model
	remote *RemoteModel
	id     string
}

func (d *modelDownload) run(ctx context.Context) error {
	spec, err := d.spec()
	if err != nil {
		return err
	}
	d.Report.Send(event.ModelDownloadStarted{Model: d.model.Name, Path: d.model.Path, Files: len(spec.Files), Bytes: total(spec)})
	if err := d.uploadChanged(ctx, spec); err != nil {
		return err
	}
	if len(spec.Files) == 0 {
		return nil
	}
	downloads := d.machine.Client.Downloads()
	if err := downloads.Put(ctx, d.id, spec); err != nil {
		return err
	}
	for {
		now, err := downloads.Wait(ctx, d.id, reporting)
		if protocol.CodeOf(err) == protocol.NotFound { // the runtime was killed and started again
			err = downloads.Put(ctx, d.id, spec)
		}
		if err != nil {
			return err
		}
		if now.Total > 0 {
			d.Report.Send(event.Copied{Stage: event.StageModel, Bytes: now.Done, Total: now.Total, Rate: now.Rate, Left: now.LeftSeconds})
		}
		switch now.State {
		case protocol.DownloadFailed:
			if now.Error.Code == protocol.Unavailable && now.Done == 0 {
				return &unreachableError{now.Error}
			}
			return now.Error
		case protocol.DownloadDone:
			return downloads.Delete(ctx, d.id)
		}
		if err := d.locate(ctx, now.Wanted); err != nil {
			return errors.Join(err, downloads.Delete(context.WithoutCancel(ctx), d.id))
		}
	}
}

// locate tells the machine where files are now.
func (d *modelDownload) locate(ctx context.Context, wanted []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(locating)
	for _, file := range wanted {
		group.Go(func() error {
			at, err := d.remote.Locate(ctx, file)
			if err != nil {
				return err
			}
			return d.machine.Client.Downloads().Locate(ctx, d.id, protocol.DownloadLocation{Path: file, Location: at})
		})
	}
	return group.Wait()
}

// spec is what the machine downloads. Of a blinded model that is what its outline has of
// weights, with the outline's headers.
func (d *modelDownload) spec() (protocol.DownloadSpec, error) {
	spec := protocol.DownloadSpec{Dir: d.model.Path, Tries: attempts, Store: d.store()}
	for _, f := range d.remote.Files {
		file := protocol.DownloadFile{Path: f.Path, Size: f.Size, SHA256: f.SHA256, GitSHA1: f.GitSHA1}
		if d.blinded() {
			if !strings.HasSuffix(f.Path, weightsFile) {
				continue
			}
			header, err := d.header(f)
			if errors.Is(err, fs.ErrNotExist) { // the blinded model leaves it out
				continue
			}
			if err != nil {
				return spec, err
			}
			file.Prefix, file.MtimeUnix = header, blinding.Epoch.Unix()
		}
		spec.Files = append(spec.Files, file)
	}
	return spec, nil
}

// store is the volume that keeps the model for other machines, if there is one.
func (d *modelDownload) store() *protocol.DownloadStore {
	i, r := modelVolume(d.Experiment), d.remote
	if i < 0 || d.blinded() || r.Source != hubcache.Source || !hubcache.Fits(r.Revision, r.Files) {
		return nil
	}
	return &protocol.DownloadStore{Dir: d.Experiment.Sandbox.Volumes[i].Path, Name: r.Ref.Name, Canonical: r.Name, Revision: r.Ref.Revision, Commit: r.Revision}
}

const weightsFile = ".safetensors"

func (d *modelDownload) blinded() bool { return d.model.Hidden && d.Experiment.Sandbox.Whole() }

// header reads the header of a file of safetensors in the outline, with its length.
func (d *modelDownload) header(f sdk.ModelFile) ([]byte, error) {
	text, _, err := safetensors.ReadFile(filepath.Join(d.model.Local, filepath.FromSlash(f.Path)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...), nil
}

// uploadChanged sends the files of a blinded model that are not those of the source.
func (d *modelDownload) uploadChanged(ctx context.Context, spec protocol.DownloadSpec) error {
	if !d.blinded() {
		return nil
	}
	downloaded := map[string]bool{}
	for _, f := range spec.Files {
		downloaded[f.Path] = true
	}
	return filepath.WalkDir(d.model.Local, func(local string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(d.model.Local, local)
		if err != nil || downloaded[filepath.ToSlash(rel)] {
			return err
		}
		return d.machine.Client.Files().Upload(ctx, local, path.Join(d.model.Path, filepath.ToSlash(rel)))
	})
}

func total(spec protocol.DownloadSpec) (bytes int64) {
	for _, f := range spec.Files {
		bytes += f.Size
	}
	return bytes
}
