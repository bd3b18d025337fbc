package fetch

import (
	"context"

	"github.com/seer-engine/seer/sdk"
)

// Remote is a model that is pinned and located, and whose files are still where the fetcher
// says. It is for machines that download models by themselves.
type Remote struct {
	Model              // without Dir
	Ref   sdk.ModelRef // as it was asked for
	source
}

// Find pins a model, and sees that its files can be had. It returns nil for a model that is in
// a folder of this computer.
func Find(ctx context.Context, fetcher sdk.Fetcher, ref sdk.ModelRef) (*Remote, error) {
	s, err := again(ctx, func() (source, error) { return resolve(ctx, fetcher, ref) })
	if err != nil {
		return nil, err
	}
	first, err := again(ctx, func() (place, error) { return s.locate(ctx, s.model.Files[0]) })
	if err != nil || first.Scheme == "file" {
		return nil, err
	}
	return &Remote{Model: s.model, Ref: ref, source: s}, nil
}

// Find is [Find], and remembers the answer in the cache. If nobody may be asked, the last answer
// counts, of [Find] or of [Fetch]; whether its files can still be had is then not known.
func (o Options) Find(ctx context.Context, fetcher sdk.Fetcher, ref sdk.ModelRef) (*Remote, error) {
	if o.Offline == "" {
		r, err := Find(ctx, fetcher, ref)
		if err != nil || r == nil {
			return nil, err
		}
		return r, o.answers().keep(ref, r.resolved(), r.probe)
	}
	known, ok := o.answers().find(ref)
	if !ok {
		return nil, errNobodyAsked(ref.Name, o.Offline)
	}
	s, err := usable(fetcher, ref, known)
	if err != nil {
		return nil, err
	}
	return &Remote{Model: s.model, Ref: ref, source: s}, nil
}

func errNobodyAsked(name, why string) error {
	return sdk.Errorf(sdk.Unavailable, "nobody is asked for %s, and it was not looked at before: %s", name, why)
}

// Locate says where a file is now, as a machine may know it.
func (r *Remote) Locate(ctx context.Context, path string) (sdk.Location, error) {
	f := r.file(path)
	if at, ok := r.direct(f); ok {
		return at, nil
	}
	at, err := again(ctx, func() (sdk.Location, error) { return r.fetcher.Locate(ctx, r.ref(path)) })
	if err != nil {
		return at, err
	}
	at, _, _ = r.viaXet(ctx, f, at, nil)
	at.Xet = sdk.Xet{}
	return at, nil
}
