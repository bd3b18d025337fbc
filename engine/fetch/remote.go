package fetch

import (
	"context"
	"slices"

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
// a folder of this computer. It keeps the answer in o.CacheDir, and asks later only whether that
// still counts, and whether a gated model can still be had. If nobody may be asked, the last
// answer counts, of Find or of [Fetch]; whether its files can still be had is then not known.
func (o Options) Find(ctx context.Context, fetcher sdk.Fetcher, ref sdk.ModelRef) (*Remote, error) {
	s, known := o.known(fetcher, ref)
	if o.Offline != "" {
		if !known {
			return nil, errNobodyAsked(ref.Name, o.Offline)
		}
		return s.remote(ref), nil
	}
	search := func(ctx context.Context) (source, bool, error) { return find(ctx, fetcher, ref) }
	if known {
		search = func(ctx context.Context) (source, bool, error) { return s.findAgain(ctx, ref) }
	}
	found, remote, err := search(ctx)
	if err != nil || !remote {
		return nil, err
	}
	return found.remote(ref), o.answers().keep(ref, found)
}

func (s source) remote(ref sdk.ModelRef) *Remote { return &Remote{Model: s.model, Ref: ref, source: s} }

// find pins a model that nothing is known of. It reports false for one in a folder of this
// computer.
func find(ctx context.Context, fetcher sdk.Fetcher, ref sdk.ModelRef) (source, bool, error) {
	s, err := again(ctx, func() (source, error) { return resolve(ctx, fetcher, ref) })
	if err != nil {
		return s, false, err
	}
	remote, err := s.available(ctx)
	return s, remote, err
}

// available sees that the files of a new answer can be had. If everybody can read them, or the
// fetcher has checked the access to a gated model, the answer says it. Otherwise a file is
// located, which also shows whether the model is in a folder of this computer.
func (s source) available(ctx context.Context) (remote bool, err error) {
	if s.base != "" || s.model.Gate != "" {
		return true, nil
	}
	i, _ := s.addressed()
	at, err := again(ctx, func() (place, error) { return s.locate(ctx, s.model.Files[i]) })
	return err == nil && at.Scheme != "file", err
}

// addressed chooses a file to locate: one that has an address, if there is one. The content of
// a small file may come with its location.
func (s source) addressed() (i int, ok bool) {
	i = slices.IndexFunc(s.model.Files, func(f sdk.ModelFile) bool { return f.SHA256 != "" })
	return max(i, 0), i >= 0
}

// findAgain is find for a model that was found before. The access to a gated model is checked
// without a byte of its files.
func (s source) findAgain(ctx context.Context, ref sdk.ModelRef) (source, bool, error) {
	now, err := again(ctx, func() (source, error) {
		now, _, err := s.renewed(ctx, ref)
		return now, err
	})
	switch {
	case err != nil:
		return now, false, err
	case now.model.Revision != s.model.Revision:
		remote, err := now.available(ctx)
		return now, remote, err
	case now.model.Gate == "":
		return now, true, nil
	}
	i, ok := now.addressed()
	if !ok {
		return find(ctx, s.fetcher, ref)
	}
	_, err = again(ctx, func() (place, error) { return now.locate(ctx, now.model.Files[i]) })
	return now, err == nil, err
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
