package transfer

import "errors"

// publishAt is how many small files are published together.
const publishAt = 64

// publishLater collects small files until they have as many bytes as a block: on the disk they
// cost less together than one by one, and no more is lost when the process is killed.
func (r *run) publishLater(f *file) error {
	r.mu.Lock()
	r.verified = append(r.verified, f)
	r.verifiedBytes += f.Size
	enough := len(r.verified) >= publishAt || r.verifiedBytes >= r.block
	r.mu.Unlock()
	if !enough {
		return nil
	}
	return r.publishAll()
}

// publishAll publishes what was collected.
func (r *run) publishAll() error {
	r.mu.Lock()
	files := r.verified
	r.verified, r.verifiedBytes = nil, 0
	r.mu.Unlock()
	for _, f := range files {
		// With its blocks allocated, all files are in the journal that the first one syncs.
		startWriting(f.data)
	}
	var errs []error
	for _, f := range files {
		errs = append(errs, f.File.failed(f.publish()))
		f.close()
	}
	return errors.Join(errs...)
}
