package local

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/seer-engine/seer/engine/image"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local/internal/rootfs"
	"github.com/seer-engine/seer/sdk"
)

// Snapshot saves what a machine has changed in its system: the tree that a machine
// with system packages or commands may write to. One key is saved once.
func (p *provider) Snapshot(ctx context.Context, handle, key string, _ json.RawMessage) (sdk.SnapshotStep, error) {
	if !validHandle(handle) || key == "" {
		return sdk.SnapshotStep{}, sdk.Errorf(sdk.Invalid, "a snapshot needs a machine and a key")
	}
	f := p.folder(handle)
	ref, err := p.roots.Save(ctx, handle+"\x00"+key, func() (string, *rootfs.Tree, error) {
		n, err := f.read()
		switch {
		case err != nil:
			return "", nil, err
		case n == nil || !f.lives(n):
			return "", nil, sdk.Errorf(sdk.NotFound, "there is no such machine any more")
		case n.Isolation != isolation.GVisor:
			return "", nil, sdk.Errorf(sdk.Unsupported, "a sandbox in isolation %s cannot change its system, so there is nothing to save; gvisor can", n.Isolation)
		case n.System == nil || !n.System.Writable:
			return "", nil, sdk.Errorf(sdk.Unsupported, "this sandbox cannot change its system, so there is nothing to save: it has no system_packages or image commands")
		}
		return f.path("gvisor"), n.System, nil
	})
	return sdk.SnapshotStep{Image: ref}, err
}

func savedDir(dir string) string { return filepath.Join(dir, "saved") }

// FindSaved looks whether a provider with this folder has a saved system, as its Snapshot
// has called it. It does not read the content. Errors: [sdk.NotFound], and [sdk.Invalid] for
// one that is damaged and for what is no such name.
func FindSaved(dir, ref string) error {
	return (&rootfs.Store{SavedDir: savedDir(dir)}).Find(ref)
}

// NeedsLogin asks registries whether an image that machines of this computer start from needs
// the user's login, and for which host; empty = none.
func NeedsLogin(registry image.Opener) func(ctx context.Context, ref string) (host string, err error) {
	return func(ctx context.Context, ref string) (string, error) {
		return image.NeedsLogin(ctx, ref, image.Options{Open: registry, Insecure: rootfs.PlainHTTP(ref)})
	}
}

// FetchImage makes what the machines of a provider start from, so that a later [sdk.Provider] Create
// finds it. It takes as long as that takes. log may be nil.
func FetchImage(ctx context.Context, o Options, ref string, log func(line string)) error {
	s := rootfs.Store{ImagesDir: o.ImagesDir, Registry: o.Registry, Login: o.Login, Files: o.ImageFiles}
	return s.Fetch(ctx, ref, log)
}
