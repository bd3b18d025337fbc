package provision

import (
	"context"
	"errors"
	"fmt"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/tartree"
	"github.com/seer-engine/seer/engine/snapshot/files"
)

// upload copies to the machine what it is not shown: models and files of this computer.
func (s *start) upload(ctx context.Context) error {
	if !s.chosen.HostMounts {
		for i, m := range s.Models {
			if s.remote(i) != nil {
				continue
			}
			if err := s.sendModel(ctx, m); err != nil {
				return err
			}
		}
	}
	for _, up := range s.Plan.UploadsOf(s.chosen) {
		if up.Mount || s.replaced(up.Remote) {
			continue
		}
		s.Report.Send(event.UploadStarted{From: up.Local, To: up.Remote})
		err := s.send(ctx, up.Local, up.Remote)
		var partial *tartree.PartialError
		if errors.As(err, &partial) && protocol.CodeOf(err) == protocol.NotFound { // as if it had never been there
			s.Report.Send(event.UploadIncomplete{Path: up.Local, Reason: err.Error()})
			err = nil
		}
		if err != nil {
			return fmt.Errorf("upload %s: %w", up.Local, err)
		}
	}
	return nil
}

func (s *start) sendModel(ctx context.Context, m machine.Model) error {
	s.Report.Send(event.UploadStarted{From: m.Name, To: m.Path})
	if err := s.send(ctx, m.Local, m.Path); err != nil {
		return fmt.Errorf("upload the model %s: %w", m.Name, err)
	}
	return nil
}

// replaced reports whether a snapshot's files take the place of a path.
func (s *start) replaced(path string) bool {
	return s.Snapshot != "" && files.Clears(s.Experiment.Sandbox.Volumes) && files.InWorkspace(path)
}

// send uploads a file or folder and reports how far that is.
func (s *start) send(ctx context.Context, local, remote string) error {
	if !s.Report.Active() {
		return s.machine.Client.Files().Upload(ctx, local, remote)
	}
	counted, end := s.Report.Counted(ctx, event.StageUpload, tartree.SizeOf(ctx, local))
	defer end()
	return s.machine.Client.Files().Upload(counted, local, remote)
}
