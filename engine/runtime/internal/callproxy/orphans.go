package callproxy

import (
	"fmt"
	"io"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/journal"
	"github.com/seer-engine/seer/engine/runtime/internal/service"
)

// tellOrphan answers with what the journal has of a call. One that has no end gets the
// given one.
func (c *relay) tellOrphan(r *service.OrphanedCalls, end *protocol.CallError) error {
	var e *journal.Entry
	if r.Err == nil {
		e = r.Folder.Get(c.header.ID)
	}
	if e == nil || !c.who.Sees(e.Token) {
		return c.fail(&protocol.CallError{Code: protocol.CallUnknown, Message: fmt.Sprintf("no call %s is known here", c.header.ID)})
	}
	switch {
	case e.Acked, e.Ended != 0 && len(e.Events) == 0, e.Ended == 0 && e.State != protocol.CallQueued && e.State != protocol.CallRunning:
		return c.fail(&protocol.CallError{Code: protocol.CallUnknown, Message: fmt.Sprintf("the answer of the call %s is not kept any more", e.ID)})
	}
	for _, v := range e.Events {
		n := max(v.N, 1)
		if n < c.next {
			continue
		}
		if v.Missing {
			return c.fail(&protocol.CallError{Code: protocol.CallInterrupted,
				Message: "the call ended, but its answer was too large to be kept and is gone with its worker; it may have had effects and was not repeated"})
		}
		if last, err := c.event(r.Folder, v); last || err != nil {
			return err
		}
	}
	return c.fail(end)
}

func (c *relay) event(folder *journal.Folder, v journal.Event) (bool, error) {
	body, err := folder.Open(v)
	if err != nil {
		return false, err
	}
	defer body.Close()
	h := v.FrameHeader
	h.Time = 0
	return c.pass(h, nil, v.Size, io.LimitReader(body, v.Size))
}

// failWithoutWorker answers for a service that has no worker and gets none soon: what its
// journal has of a call counts, and otherwise why there is no worker.
func (c *relay) failWithoutWorker(why error) error {
	folder, err := journal.Read(c.journal)
	orphaned := &service.OrphanedCalls{Folder: folder, Err: err}
	if err != nil || folder.Get(c.header.ID) == nil {
		return why
	}
	return c.tellOrphan(orphaned, &protocol.CallError{Code: protocol.CallInterrupted,
		Message: fmt.Sprintf("the service %s has no worker any more (%v); the call may have had effects and was not repeated", c.name, why)})
}
