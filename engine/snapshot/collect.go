package snapshot

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// small is what is held in memory until it is known whether it is new.
const small = 1 << 20

// collector reads a tree's tar stream and writes what is new of it.
type collector struct {
	ctx    context.Context
	old    index // the parent's
	seen   index
	layer  layer
	number int // of the layer
	spool  string
	skip   []string
	t      *Tree
	buf    bytes.Buffer
}

func (c *collector) run(r io.Reader) error {
	in := &ending{r: bufio.NewReaderSize(r, 1<<20)}
	tr := tar.NewReader(in)
	for {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		hdr, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return sdk.Errorf(sdk.Invalid, "the data is not a tar archive, or was cut after %d entries: %v", len(c.seen), err)
		}
		if err := c.entry(hdr, tr); err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = sdk.Errorf(sdk.Invalid, "the tar was cut in it")
			}
			return fmt.Errorf("%.200q: %w", hdr.Name, err)
		}
	}
	if in.over {
		return sdk.Errorf(sdk.Invalid, "the tar was cut after %d entries: its end is missing", len(c.seen))
	}
	if _, err := io.Copy(io.Discard, in.r); err != nil { // padding; who sends it waits
		return err
	}
	if err := c.seen.check(); err != nil {
		return err
	}
	return c.deletions()
}

// ending notes whether the stream itself has ended: a tar has an end of its own, and one
// that lacks it was cut, which its reader does not tell.
type ending struct {
	r    *bufio.Reader
	over bool
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	if errors.Is(err, io.EOF) {
		e.over = true
	}
	return n, err
}

func (c *collector) entry(hdr *tar.Header, r io.Reader) error {
	if hdr.Typeflag == tar.TypeXGlobalHeader {
		if missing := hdr.PAXRecords["SEER.forbidden"]; missing != "" { // docs/protocol.md; what has vanished is not missed
			return sdk.Errorf(sdk.Invalid, "files may not be read: %q", missing)
		}
		return nil
	}
	e, err := c.describe(hdr)
	if err != nil || e == nil {
		return err
	}
	if before := c.seen[e.Path]; before != nil && (before.Type != typeDir || e.Type != typeDir) {
		return sdk.Errorf(sdk.Invalid, "it is in the tar twice")
	}
	if e.Type == typeFile {
		c.t.Bytes += e.Size
		if err := c.file(e, r); err != nil {
			return err
		}
	} else if was := c.old[e.Path]; was == nil || was.Type != e.Type || was.Link != e.Link || was.Mode != e.Mode {
		if err := c.layer.add(e, nil); err != nil {
			return err
		}
	}
	c.seen[e.Path] = e
	return nil
}

// describe makes an entry of a header; nil is one that is left out.
func (c *collector) describe(hdr *tar.Header) (*entry, error) {
	name, err := local(hdr.Name)
	if err != nil {
		return nil, err
	}
	if c.skips(name) {
		return nil, nil
	}
	e := &entry{Path: name, Mode: hdr.Mode & 0o7777, UID: max(hdr.Uid, 0), GID: max(hdr.Gid, 0), MTime: hdr.ModTime.UnixNano()}
	switch hdr.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse:
		e.Type, e.Size, e.Layer = typeFile, hdr.Size, c.number
	case tar.TypeDir:
		e.Type, e.Opaque = typeDir, hdr.PAXRecords[overlayKey] == "y"
	case tar.TypeSymlink:
		e.Type, e.Link = typeSymlink, hdr.Linkname
	case tar.TypeLink:
		if target, err := local(hdr.Linkname); err == nil && c.skips(target) {
			return nil, nil
		}
		return e, c.hardLink(e, hdr.Linkname)
	case tar.TypeChar:
		if hdr.Devmajor != 0 || hdr.Devminor != 0 {
			c.t.LeftOut++
			return nil, nil
		}
		e.Type = typeGone
	default:
		c.t.LeftOut++
		return nil, nil
	}
	return e, nil
}

// skips reports whether a path is not to be saved.
func (c *collector) skips(name string) bool {
	return slices.ContainsFunc(c.skip, func(dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") })
}

func (c *collector) hardLink(e *entry, link string) error {
	target, err := local(link)
	if err != nil {
		return err
	}
	to := c.seen[target]
	if to == nil {
		return sdk.Errorf(sdk.Invalid, "it is a link to %.200q, which does not come before it", link)
	}
	switch to.Type {
	case typeGone: // all whiteouts of an overlay are one file
		e.Type = typeGone
		return nil
	case typeLink:
		target = to.Link
	case typeDir:
		return sdk.Errorf(sdk.Invalid, "it is a link to the folder %.200q", link)
	}
	e.Type, e.Link = typeLink, target
	return nil
}

// file decides by the content whether it is new.
func (c *collector) file(e *entry, r io.Reader) error {
	was := c.old[e.Path]
	if was != nil && (was.Type != typeFile || was.Size != e.Size) {
		was = nil
	}
	h := sha256.New()
	content, done, err := c.hold(e, was, io.TeeReader(r, h))
	if err != nil {
		return err
	}
	defer done()
	if content != nil {
		e.SHA256 = hex.EncodeToString(h.Sum(nil))
		if was != nil && was.SHA256 == e.SHA256 {
			e.Layer = was.Layer
			return nil
		}
	} else {
		content = io.TeeReader(r, h)
	}
	c.t.New += e.Size
	if err := c.layer.add(e, content); err != nil {
		return err
	}
	e.SHA256 = hex.EncodeToString(h.Sum(nil))
	return nil
}

// hold keeps a file's content until its hash is known: a small one in memory, a large one
// that may be the same as before on the disk. A large one that must be new is not held.
func (c *collector) hold(e, was *entry, r io.Reader) (io.Reader, func(), error) {
	nothing := func() {}
	switch {
	case e.Size <= small:
		c.buf.Reset()
		_, err := c.buf.ReadFrom(r)
		return bytes.NewReader(c.buf.Bytes()), nothing, err
	case was == nil:
		return nil, nothing, nil
	}
	f, err := os.CreateTemp(c.spool, "spool-*")
	if err != nil {
		return nil, nothing, err
	}
	_ = os.Remove(f.Name())
	_, err = io.CopyBuffer(f, r, make([]byte, small))
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, nothing, errors.Join(err, f.Close())
	}
	return f, func() { _ = f.Close() }, nil
}

// deletions tells in the layer what the parent had and is gone, as OCI layers do.
func (c *collector) deletions() error {
	for _, was := range c.old.sorted() {
		dir := path.Dir(was.Path)
		if c.seen[was.Path] != nil || was.Path == "." || dir != "." && c.old[dir] != nil && c.seen[dir] == nil {
			continue // what is in a folder that is gone is gone with it
		}
		gone := &entry{Path: path.Join(dir, ".wh."+path.Base(was.Path)), Type: typeFile, Mode: 0o600}
		if err := c.layer.add(gone, nil); err != nil {
			return err
		}
	}
	return nil
}

// local makes a name of an archive a path below the tree.
func local(name string) (string, error) {
	clean := strings.TrimLeft(name, "/")
	if clean == "" {
		return ".", nil
	}
	if !filepath.IsLocal(clean) || strings.Contains(clean, "\x00") || len(clean) > maxPath {
		return "", sdk.Errorf(sdk.Invalid, "it leads out of the tree")
	}
	return path.Clean(clean), nil
}
