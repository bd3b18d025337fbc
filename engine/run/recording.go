package run

import (
	"context"
	"os"
	"sync"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/record"
)

// recording keeps the calls of a run while it goes on, so that they are there when
// the machine is not.
type recording struct {
	writer    *record.Writer
	recorders []*record.Recorder
	ctx       context.Context
	cancel    context.CancelFunc
	wg        sync.WaitGroup
	warn      func(format string, args ...any)
}

// startRecording begins a record in the outputs. One of an earlier run is replaced.
func startRecording(outputs *os.Root, warn func(string, ...any)) (*recording, error) {
	w, err := record.Create(outputs, record.Name)
	if err != nil {
		return nil, err
	}
	c := &recording{writer: w, warn: warn}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// service records the calls of a service from its first on; of one that was there before the run,
// from now on.
func (c *recording) service(s *engine.Sandbox, v *engine.Service, before bool) error {
	if err := c.writer.Service(v.Name(), v.Interface()); err != nil {
		return err
	}
	r := record.NewRecorder(s.Runtime().Services(), v.Name(), c.writer, c.warn)
	if before {
		if err := r.Skip(c.ctx); err != nil {
			return err
		}
	}
	c.recorders = append(c.recorders, r)
	c.wg.Go(func() {
		if err := r.Follow(c.ctx); err != nil {
			c.warn("recording of the calls of %s has stopped: %v", v.Name(), err)
		}
	})
	return nil
}

// finish brings the record to its end, while the machine is still there, and tells how
// many calls it has.
func (c *recording) finish(ctx context.Context) int {
	c.cancel()
	c.wg.Wait()
	for _, r := range c.recorders {
		if err := r.Finish(ctx); err != nil {
			c.warn("%v", err)
		}
	}
	if err := c.writer.Close(); err != nil {
		c.warn("the record of calls may not be whole: %v", err)
	}
	return c.writer.Calls()
}
