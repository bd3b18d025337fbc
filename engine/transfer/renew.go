package transfer

import (
	"context"
	"net/url"
	"slices"

	"github.com/seer-engine/seer/sdk"
)

// current is the source, after it has been renewed if there was none or its time is over.
func (f *file) current(ctx context.Context) (Source, int, error) {
	for {
		f.mu.Lock()
		s, generation := f.source, f.generation
		f.mu.Unlock()
		if !s.zero() && (s.Expires.IsZero() || f.run.clock.Now().Before(s.Expires)) {
			return s, generation, nil
		}
		host := ""
		if len(s.Fetches) > 0 {
			host = hostOf(s.Fetches[0].URL)
		}
		if err := f.renew(ctx, generation, host); err != nil {
			return Source{}, 0, err
		}
	}
}

// renew asks for another source, unless somebody has done so since that generation.
func (f *file) renew(ctx context.Context, generation int, host string) error {
	select {
	case f.renewal <- struct{}{}:
		defer func() { <-f.renewal }()
	case <-ctx.Done():
		return ctx.Err()
	}
	f.mu.Lock()
	done, renewed, now := f.written.bytes(), f.renewed, f.generation
	f.mu.Unlock()
	switch {
	case now != generation:
		return nil
	case f.run.Renew == nil:
		return &PausedError{Path: f.name(), Host: host, Done: done, Total: f.Size}
	case renewed >= maxRenewals:
		return sdk.Errorf(sdk.Unauthorized, "%s refuses each new address", host)
	}
	s, err := f.run.Renew(ctx, f.File)
	if err != nil {
		return err
	}
	if err := checkSource(f.File, s); err != nil {
		return err
	}
	if err := copyLocal(ctx, f, s.Copies); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s.Parts, s.Fetches = slices.Clone(s.Parts), slices.Clone(s.Fetches)
	f.source, f.generation, f.renewed, f.direct, f.known = s, generation+1, renewed+1, nil, false
	return nil
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the server"
	}
	return u.Host
}
