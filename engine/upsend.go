package engine

import (
	"context"

	"github.com/seer-engine/seer/engine/protocol/tartree"
)

// send uploads a file or folder and tells how far that is.
func (u *up) send(ctx context.Context, s *Sandbox, local, remote string) error {
	if u.report.To == nil {
		return s.runtime.Files().Upload(ctx, local, remote)
	}
	counted, end := u.report.Counted(ctx, StageUpload, tartree.SizeOf(ctx, local))
	defer end()
	return s.runtime.Files().Upload(counted, local, remote)
}
