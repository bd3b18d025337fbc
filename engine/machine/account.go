package machine

import (
	"context"
	"fmt"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// AccountPrefix begins an account that its provider has named. It stays the same when a
// credential is replaced by another one of the account.
const AccountPrefix = "id:"

// account is what a provider is asked with now.
func (d *Driver) account(ctx context.Context, provider string) (string, error) {
	if d.Account == nil {
		return "", nil
	}
	account, err := repeat(ctx, d.retrier(provider, nil, func(string) {}), "account", func() (string, error) { return d.Account(ctx, provider) })
	if err != nil {
		return "", fmt.Errorf("ask %s whose machines it shows: %w", provider, err)
	}
	return account, nil
}

// foreign reports that a machine was rented with another account than is asked now.
// That this one does not know it then proves nothing, until its time is over.
func (d *Driver) foreign(ctx context.Context, r *Record) (bool, error) {
	if r.Account == "" || !r.HardEnd.IsZero() && d.Clock.Now().After(r.HardEnd.Add(grace)) {
		return false, nil
	}
	now, err := d.account(ctx, r.Provider)
	return now != "" && now != r.Account, err
}

// known is nil unless nobody can tell whether a machine still lives. A new key of the
// same account shows it, so that it can be ended.
func (d *Driver) known(ctx context.Context, p sdk.Provider, r *Record) error {
	if foreign, err := d.foreign(ctx, r); err != nil || !foreign {
		return err
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
	if err := silent(listed); err != nil {
		return err
	}
	return &AccountError{r.ID, r.Provider}
}

// Recognize prepares for the end of a machine by its own program, after which its
// provider may not know it any more. Where only the credential has changed, the machine is
// seen while it lives, and the new account is its own from then on.
func (d *Driver) Recognize(ctx context.Context, r Record) Record {
	if !r.Live() || r.Handle == "" || r.Account == "" || strings.HasPrefix(r.Account, AccountPrefix) {
		return r
	}
	p, err := d.provider(ctx, r.Provider, func(string) {})
	if err != nil || d.Account == nil {
		return r
	}
	now, err := d.Account(ctx, r.Provider) // once: the end does not depend on it
	if err != nil || now == "" || now == r.Account {
		return r
	}
	if seen, err := observe(ctx, p, []string{r.Handle}); err != nil || !seen[r.Handle].State.Live() {
		return r
	}
	if updated, err := d.Ledger.Update(ctx, r.ID, func(r *Record) error { r.Account = now; return nil }); err == nil {
		return updated
	}
	return r
}
