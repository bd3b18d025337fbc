package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/seer-engine/seer/internal/ctxio"
	"github.com/seer-engine/seer/sdk"
)

// Derive returns a root that is the given one with a layer on top: a tar file, plain,
// gzip or zstd, with whiteouts as OCI layers have them or as an overlay's upper folder
// has them (character devices 0,0 and hard links to them). Files that the layer leaves as they are
// are shared with the base by hard links. The result is kept beside the base and found
// again by the two digests.
func Derive(ctx context.Context, root Root, layerTar string) (Root, error) {
	at := filepath.Dir(root.Dir)
	base, err := readRecord(at)
	if err != nil || base.Digest != root.Digest {
		return Root{}, sdk.Errorf(sdk.NotFound, "%s is not a root of this store; unpack the image %s again", root.Dir, short(root.Digest))
	}
	s := store{filepath.Dir(filepath.Dir(at))}
	f, err := os.Open(layerTar)
	if err != nil {
		return Root{}, fmt.Errorf("the layer on %s: %w", short(root.Digest), err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, ctxio.Reader(ctx, f)); err != nil {
		return Root{}, fmt.Errorf("the layer %s: %w", layerTar, err)
	}
	layer := "sha256:" + hex.EncodeToString(h.Sum(nil))
	sum := sha256.Sum256([]byte("derived\n" + root.Digest + "\n" + layer + "\n"))
	r := base
	r.Digest, r.Base, r.Layer = "sha256:"+hex.EncodeToString(sum[:]), root.Digest, layer
	if have, ok := s.get(r.Digest); ok {
		return have, nil
	}
	return s.build(ctx, r, func(string) {}, func(dir string) (int64, int64, error) {
		if err := linkTree(ctx, root.Dir, dir); err != nil {
			return 0, 0, err
		}
		t, err := openTree(dir, defaultMaxBytes)
		if err != nil {
			return 0, 0, err
		}
		defer t.close()
		t.overlay = true
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return 0, 0, err
		}
		if err := t.apply(ctx, f); err != nil {
			return 0, 0, fmt.Errorf("the layer %s: %w", layerTar, err)
		}
		return base.Bytes + t.bytes, base.Files + t.files, nil
	})
}

// linkTree copies folders and links everything in them.
func linkTree(ctx context.Context, from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if !d.IsDir() {
			return linkFile(path, target)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if err := os.Mkdir(target, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return os.Chmod(target, info.Mode().Perm()|info.Mode()&fs.ModeSticky)
	})
}

// linkFile copies a file that has as many names as the file system allows.
func linkFile(from, to string) error {
	err := os.Link(from, to)
	if !errors.Is(err, syscall.EMLINK) {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close(), os.Chtimes(to, info.ModTime(), info.ModTime()))
}
