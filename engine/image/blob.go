package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// blob is a layer on its way into the store.
type blob struct {
	job
	desc v1.Descriptor
	came func(n int64)
}

func (s store) blob(desc v1.Descriptor) string {
	return filepath.Join(s.dir, "blobs", desc.Digest.Encoded())
}

// dropBlobs removes layers that are unpacked. What is left anyway, Prune removes.
func (s store) dropBlobs(layers []v1.Descriptor) {
	for _, desc := range layers {
		_ = s.unlessHeld("blob-"+desc.Digest.Encoded(), func() error { return os.Remove(s.blob(desc)) })
	}
}

const attempts = 5

// get returns the verified layer, open at its beginning. What an earlier attempt, also
// of a program that was killed, has left is continued.
func (b blob) get(ctx context.Context) (*os.File, error) {
	lock, err := b.store.lock(ctx, "blob-"+b.desc.Digest.Encoded(), func(string) {})
	if err != nil {
		return nil, err
	}
	defer lock.Remove()
	final := b.store.blob(b.desc)
	if f, err := os.Open(final); err == nil { // verified before it got its name
		return f, nil
	}
	for try, pause := 1, 500*time.Millisecond; ; try++ {
		had := fileSize(final + ".part")
		err := b.attempt(ctx, final+".part")
		if err == nil {
			break
		}
		if fileSize(final+".part") > had {
			try, pause = 0, 500*time.Millisecond // it moves on
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !passing(err) || errors.Is(err, state.ErrNoSpace) || try >= attempts {
			return nil, b.explain(ctx, err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
			pause = min(2*pause, 10*time.Second)
		}
	}
	if err := os.Rename(final+".part", final); err != nil {
		return nil, err
	}
	return os.Open(final)
}

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// attempt downloads what is missing and verifies the whole.
func (b blob) attempt(ctx context.Context, part string) (err error) {
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return state.NoSpace(part, err)
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = state.NoSpace(part, closeErr)
		}
	}()
	h := sha256.New()
	have, err := io.Copy(h, io.LimitReader(f, b.desc.Size))
	if err != nil {
		return err
	}
	if have < b.desc.Size {
		if have, err = b.more(ctx, f, h, have); err != nil {
			return state.NoSpace(part, err)
		}
	}
	if got := digest.NewDigestFromEncoded(digest.SHA256, hex.EncodeToString(h.Sum(nil))); got != b.desc.Digest || have != b.desc.Size {
		return errors.Join(b.swapped("layer", b.desc.Digest, got), os.Remove(part))
	}
	return f.Truncate(b.desc.Size)
}

// more appends to the file and the hash what comes from an offset on.
func (b blob) more(ctx context.Context, f *os.File, h hash.Hash, have int64) (int64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(b.o.Stall, func() { cancel(sdk.Errorf(sdk.Unavailable, "nothing came for %s", b.o.Stall)) })
	defer watch.Stop()
	body, from, err := b.registry.Blob(ctx, b.desc.Digest, have)
	if err != nil {
		return have, errors.Join(context.Cause(ctx), err)
	}
	defer body.Close()
	if from < have { // this registry continues nothing
		h.Reset()
		have = 0
	}
	if _, err := f.Seek(have, io.SeekStart); err != nil {
		return have, err
	}
	buf := make([]byte, 128<<10)
	for have < b.desc.Size {
		n, err := body.Read(buf[:min(int64(len(buf)), b.desc.Size-have)])
		if n > 0 {
			watch.Reset(b.o.Stall)
			if _, err := f.Write(buf[:n]); err != nil {
				return have, err
			}
			h.Write(buf[:n])
			have += int64(n)
			b.came(int64(n))
		}
		if err != nil && have < b.desc.Size {
			if cause := context.Cause(ctx); cause != nil {
				return have, cause
			}
			return have, sdk.Errorf(sdk.Unavailable, "a layer broke off after %d of %d bytes: %v; try again", have, b.desc.Size, err)
		}
	}
	return have, nil
}
