package machine

import (
	"cmp"
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
		return d.finish(ctx, r, sdk.Stopped, why, err)
	}
	leftover := d.known(ctx, p, &r)
	if leftover == nil {
		// A host that is reached by a route has one machine for a key, and shows it at once:
		// other hosts, which may be away, need not be asked.
		leftover = d.release(ctx, p, &r, d.late(r.Provider) > 0 && len(r.Routes) == 0)
	}
	final := sdk.Stopped
	if !r.Live() {
		final, why = r.State, r.Message // it had ended by itself; that is the truth to keep
	}
	return d.finish(ctx, r, final, why, leftover)
}

// EndOverdue ends the machines that run past the end that was set for them, of providers
// that the caller selects. Where there is none, nobody is asked.
func (d *Driver) EndOverdue(ctx context.Context, selected func(provider string) bool) ([]Record, error) {
	all, _ := d.Ledger.List() // a record that cannot be read is no reason to leave the others
	var ended []Record
	var errs []error
	for _, r := range all {
		if !r.Overdue(d.Clock.Now()) || !selected(r.Provider) || r.ReadyAt.IsZero() && d.Ledger.starting(r.ID) {
			continue
		}
		r, err := d.End(ctx, r, "its timeout has passed, and it did not end by itself")
		if err != nil {
			errs = append(errs, err)
			continue
		}
		ended = append(ended, r)
	}
	return ended, errors.Join(errs...)
}

// ending is the time to end a machine in, whatever has become of ctx.
func (d *Driver) ending(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), d.EndTimeout)
}

// release ends every machine of the record: the one it knows and, as a start may
// have died between renting and writing, any that the provider lists under its
// key. With search they are looked for even where one is known, which comes first: a
// list may fail for as long as there is time.
func (d *Driver) release(ctx context.Context, p sdk.Provider, r *Record, search bool) error {
	p = briefly(ctx, p)
	var errs []error
	if r.Handle != "" {
		errs = append(errs, p.Terminate(ctx, r.Handle))
	}
	if !search && r.Handle != "" {
		return errors.Join(errs...)
	}
	listed, err := p.List(ctx, r.Owner)
	errs = append(errs, err)
	found := false
	for _, m := range listed {
		found = found || m.Key == r.Key
		if m.Key == r.Key && m.Handle != r.Handle {
			errs = append(errs, p.Terminate(ctx, m.Handle))
		}
	}
	if !found { // of several hosts, one has the machine of a key
		errs = append(errs, silent(listed))
	}
	return errors.Join(errs...)
}

// noAnswer reports that an entry of a list is a host that does not answer.
func noAnswer(m sdk.Listed) bool { return m.Key == "" && m.State == sdk.Unreachable }

// silent is the error of the hosts that a list lacks, because they do not answer; nil = it is
// complete.
func silent(listed []sdk.Listed) error {
	var errs []error
	for _, m := range listed {
		if noAnswer(m) {
			errs = append(errs, sdk.Errorf(sdk.Unavailable, "%s", m.Message))
		}
	}
	return errors.Join(errs...)
}

// finish writes the end of a sandbox, or that it could not be ended. A record whose machine
// may still appear stays unreleased, so that a later collection looks again. The handle in r
// counts where the ledger has none: a cancelled start no longer writes it there.
func (d *Driver) finish(ctx context.Context, r Record, final sdk.State, message string, leftover error) (Record, error) {
	key, handle := r.Key, r.Handle
	ctx, cancel := d.ending(ctx) // what was done is written, whoever has given up
	defer cancel()
	updated, err := d.Ledger.Update(ctx, r.ID, func(r *Record) error {
		if r.Key == key && r.Handle == "" {
			r.Handle = handle
		}
		if leftover != nil {
			r.Message, r.Ending = "could not be ended: "+leftover.Error(), cmp.Or(message, "it was asked to end")
			return nil
		}
		r.Ending = ""
		if r.Live() || !r.Released { // otherwise somebody else has ended it, and said why
			r.end(final, message, d.Clock.Now())
		}
		if r.Released = r.Key == key && !d.mayAppear(r); r.Released { // otherwise its start has gone on to another choice
			r.ToldAt = d.Clock.Now()
		}
		return nil
	})
	if err == nil && !updated.Live() {
		d.unroute(ctx, r.ID)
	}
	if leftover != nil {
		left := &LeftoverError{ID: r.ID, Handle: r.Handle, Err: leftover}
		if len(r.Routes) > 0 && sdk.CodeOf(leftover) == sdk.Unavailable {
			left.Ends = r.HardEnd
		}
		return updated, errors.Join(left, err)
	}
	return updated, err
}
