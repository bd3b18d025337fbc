package machine

import (
	"context"
	"errors"

	"github.com/seer-engine/seer/sdk"
)

// End ends a sandbox and everything it rents. It is idempotent. If the machine
// could not be ended, the error is a [LeftoverError] and the record stays.
func (d *Driver) End(ctx context.Context, r Record, why string) (Record, error) {
	if !r.Live() && r.Released {
		return r, nil
	}
	p, err := d.provider(ctx, r.Provider, func(string) {})
	if err != nil {
		return r, &LeftoverError{ID: r.ID, Handle: r.Handle, Err: err}
	}
	leftover := d.release(ctx, p, &r)
	final := sdk.Stopped
	if !r.Live() {
		final, why = r.State, r.Message // it had ended by itself; that is the truth to keep
	}
	return d.finish(ctx, r, final, why, leftover)
}

// release ends every machine of the record: the one it knows and, as a start may
// have died between renting and writing, any that the provider lists under its
// key.
func (d *Driver) release(ctx context.Context, p sdk.Provider, r *Record) error {
	handles := map[string]bool{}
	if r.Handle != "" {
		handles[r.Handle] = true
	} else {
		listed, err := p.List(ctx, r.Owner)
		if err != nil {
			return err
		}
		for _, m := range listed {
			if m.Key == r.Key {
				handles[m.Handle] = true
			}
		}
	}
	var errs []error
	for h := range handles {
		errs = append(errs, p.Terminate(ctx, h))
	}
	return errors.Join(errs...)
}

// finish writes the end of a sandbox, or that it could not be ended.
func (d *Driver) finish(ctx context.Context, r Record, final sdk.State, message string, leftover error) (Record, error) {
	updated, err := d.Ledger.Update(ctx, r.ID, func(r *Record) error {
		if leftover != nil {
			r.Message = "could not be ended: " + leftover.Error()
			return nil
		}
		if r.Live() || !r.Released { // otherwise somebody else has ended it, and said why
			r.end(final, message, d.Clock.Now())
		}
		r.Released = true
		return nil
	})
	if leftover != nil {
		return updated, errors.Join(&LeftoverError{ID: r.ID, Handle: r.Handle, Err: leftover}, err)
	}
	return updated, err
}
