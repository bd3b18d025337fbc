// Package sandboxfs reads and writes the files of a running sandbox for its user. It refuses
// to bring the name of a hidden model into the sandbox.
package sandboxfs

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"iter"

	"github.com/seer-engine/seer/engine/blinding"
	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/collect"
	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/engine/protocol"
)

// Files are those of one sandbox. Errors of the runtime are [errdefs.KindProvider] unless
// they have a better kind. Both fields must be set.
type Files struct {
	Client *client.Client
	Hidden func() (namesearch.Names, error) // the names that nobody may find in the sandbox
}

func provider(err error) error { return errdefs.Wrap(errdefs.KindProvider, err) }

// check looks at what is brought: its place in the sandbox, and its content or, where that is
// nil, the file or folder local.
func (f Files) check(ctx context.Context, place, local string, content []byte) error {
	names, err := f.Hidden()
	if err != nil {
		return err
	}
	return blinding.CheckBrought(ctx, names, place, local, content)
}

// CheckInterface looks at an interface file before the sandbox has it.
func (f Files) CheckInterface(ctx context.Context, name, file string) error {
	names, err := f.Hidden()
	if err != nil {
		return err
	}
	return blinding.CheckInterface(ctx, names, name, file)
}

// Write writes a file whole or not at all, and makes missing folders.
func (f Files) Write(ctx context.Context, path string, data []byte, mode fs.FileMode) error {
	if err := f.check(ctx, path, "", data); err != nil {
		return err
	}
	return provider(f.Client.Files().Write(ctx, path, bytes.NewReader(data), mode))
}

// WriteFrom is [Files.Write] of what a reader gives.
func (f Files) WriteFrom(ctx context.Context, path string, r io.Reader, mode fs.FileMode) error {
	names, err := f.Hidden()
	if err != nil {
		return err
	}
	return blinding.CheckReader(ctx, names, path, r, func(r io.Reader) error {
		return provider(f.Client.Files().Write(ctx, path, r, mode))
	})
}

// Read reads a file into memory.
func (f Files) Read(ctx context.Context, path string) ([]byte, error) {
	var b bytes.Buffer
	_, err := f.Client.Files().Read(ctx, path, &b)
	return b.Bytes(), provider(err)
}

// List lists a folder, sorted by name.
func (f Files) List(ctx context.Context, path string) ([]protocol.Entry, error) {
	entries, err := f.Client.Files().List(ctx, path)
	return entries, provider(err)
}

// Watch follows a folder, with recursive also all below it; see [client.Files.Watch].
func (f Files) Watch(ctx context.Context, path string, recursive bool) iter.Seq2[protocol.WatchEvent, error] {
	return func(yield func(protocol.WatchEvent, error) bool) {
		for event, err := range f.Client.Files().Watch(ctx, path, recursive) {
			if !yield(event, provider(err)) {
				return
			}
		}
	}
}

// Mkdir makes a folder and its parents.
func (f Files) Mkdir(ctx context.Context, path string) error {
	return provider(f.Client.Files().Mkdir(ctx, path, 0o755))
}

// Upload copies a file or folder of this computer into the sandbox.
func (f Files) Upload(ctx context.Context, local, remote string) error {
	if err := f.check(ctx, remote, local, nil); err != nil {
		return err
	}
	return provider(f.Client.Files().Upload(ctx, local, remote))
}

// Download copies a file or folder of the sandbox to this computer. In a folder, what
// programs obey merely because they are used there, such as .git, gets another name unless
// [client.Renaming] says which; see [collect.Safe].
func (f Files) Download(ctx context.Context, remote, local string) error {
	if !client.IsRenaming(ctx) {
		ctx = client.Renaming(ctx, collect.Safe)
	}
	return provider(f.Client.Files().Download(ctx, remote, local))
}
