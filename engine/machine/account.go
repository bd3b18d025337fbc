package machine

import (
	"context"

	"github.com/seer-engine/seer/sdk"
)

// account is what a provider is asked with now.
func (d *Driver) account(ctx context.Context, provider string) string {
	if d.Account == nil {
		return ""
	}
	return d.Account(ctx, provider)
}

// foreign reports that a machine was rented with another account than is asked now.
// That this one does not know it then proves nothing, until its time is over.
func (d *Driver) foreign(ctx context.Context, r *Record) bool {
	if r.Account == "" || !r.HardEnd.IsZero() && d.Clock.Now().After(r.HardEnd.Add(grace)) {
		return false
	}
	now := d.account(ctx, r.Provider)
	return now != "" && now != r.Account
}

// known is nil unless nobody can tell whether a machine still lives. A new key of the
// same account shows it, so that it can be ended.
func (d *Driver) known(ctx context.Context, p sdk.Provider, r *Record) error {
	if !d.foreign(ctx, r) {
		return nil
	}
	if r.Handle != "" {
		seen, err := observe(ctx, p, []string{r.Handle})
		if err != nil || seen[r.Handle].State.Live() {
			return err
		}
		return &AccountError{r.ID, r.Provider}
	}
	listed, err := p.List(ctx, r.Owner)
	if err != nil {
		return err
	}
	for _, m := range listed {
		if m.Key == r.Key {
			return nil
		}
	}
	return &AccountError{r.ID, r.Provider}
}
