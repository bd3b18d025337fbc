package transfer

import (
	"context"
	"slices"
)

const (
	defaultBlock = 8 << 20 // bytes between two records of what is there
	maxUnsynced  = 16      // blocks that may be lost when the system stops
)

// note has the sidecar follow what is written, a block at a time, until nothing is missing.
func (f *file) note(ctx context.Context) error {
	for {
		there := f.waitBlock(ctx, &f.noted)
		if there == nil {
			return nil
		}
		if err := f.sidecar.note(there); err != nil {
			return err
		}
		f.mu.Lock()
		f.noted = there.bytes()
		f.mu.Unlock()
	}
}

// record has the sidecar follow what is on the disk, as note does. Bytes are on the disk
// before they are recorded.
func (f *file) record(ctx context.Context) error {
	for {
		there := f.waitBlock(ctx, &f.onDisk)
		if there == nil {
			return nil
		}
		if err := f.data.Sync(); err != nil {
			return diskError(f.data.Name(), err)
		}
		if err := f.sidecar.record(there); err != nil {
			return err
		}
		f.mu.Lock()
		f.onDisk = there.bytes()
		f.changed.Broadcast() // writers may wait for this
		f.mu.Unlock()
	}
}

// waitBlock waits until a block more has been written than a count says, and returns all that
// has. It returns nothing at the end: what comes last is on disk when the file gets its name.
func (f *file) waitBlock(ctx context.Context, counted *int64) ranges {
	f.mu.Lock()
	defer f.mu.Unlock()
	for ctx.Err() == nil {
		n := f.written.bytes()
		if n == f.Size {
			return nil
		}
		if n-*counted >= f.run.block {
			return slices.Clone(f.written)
		}
		f.changed.Wait()
	}
	return nil
}

// store writes bytes to where they belong, as far as they are missing.
func (f *file) store(ctx context.Context, at int64, b []byte) error {
	all := span{max(0, at), min(at+int64(len(b)), f.Size)}
	f.mu.Lock()
	gaps := f.written.missing(all)
	f.mu.Unlock()
	var fresh int64
	for _, gap := range gaps {
		if err := f.write(b[gap.start-at:gap.end-at], gap.start); err != nil {
			return diskError(f.data.Name(), err)
		}
		fresh += gap.size()
	}
	if fresh == 0 {
		return nil
	}
	f.run.meter.arrived(fresh)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.written.add(all)
	f.tries, f.renewed = 0, 0
	f.changed.Broadcast()
	for f.written.bytes()-f.onDisk > maxUnsynced*f.run.block && f.written.bytes() < f.Size && ctx.Err() == nil {
		f.changed.Wait()
	}
	return ctx.Err()
}

// write writes b, or in a second round only what differs from b.
func (f *file) write(b []byte, at int64) error {
	f.mu.Lock()
	compare := f.compare
	f.mu.Unlock()
	if compare {
		have := make([]byte, len(b))
		if n, _ := f.data.ReadAt(have, at); n == len(b) && slices.Equal(have, b) {
			return nil
		}
	}
	_, err := f.data.WriteAt(b, at)
	return err
}
