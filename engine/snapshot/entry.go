package snapshot

import (
	"archive/tar"
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"github.com/seer-engine/seer/sdk"
)

// The types of entries.
const (
	typeFile    = "file"
	typeDir     = "dir"
	typeSymlink = "symlink"
	typeLink    = "link"     // to another file of the tree
	typeGone    = "whiteout" // of an overlay: what lies below is not shown
)

const (
	maxEntries = 20_000_000
	maxLine    = 64 << 10
	maxPath    = 16 << 10
	overlayKey = "SCHILY.xattr.trusted.overlay.opaque"
)

// entry is a line of an index: one file of a tree, and which layer has its content.
type entry struct {
	Path   string `json:"path"`
	Type   string `json:"type"`
	Mode   int64  `json:"mode"`
	UID    int    `json:"uid,omitempty"`
	GID    int    `json:"gid,omitempty"`
	Size   int64  `json:"size,omitempty"`
	MTime  int64  `json:"mtime"` // unix nanoseconds
	SHA256 string `json:"sha256,omitempty"`
	Layer  int    `json:"layer,omitempty"` // of a file: the number among the tree's layers
	Link   string `json:"link,omitempty"`
	Opaque bool   `json:"opaque,omitempty"` // of an overlay's folder: what lies below is not shown

	// Names that are no UTF-8 and so no JSON stand here instead, in base64.
	RawPath []byte `json:"path_bytes,omitempty"`
	RawLink []byte `json:"link_bytes,omitempty"`
}

// line is the entry as JSON can hold it.
func (e entry) line() entry {
	if !utf8.ValidString(e.Path) {
		e.Path, e.RawPath = "", []byte(e.Path)
	}
	if !utf8.ValidString(e.Link) {
		e.Link, e.RawLink = "", []byte(e.Link)
	}
	return e
}

func (e *entry) parse(line []byte) error {
	if err := json.Unmarshal(line, e); err != nil {
		return err
	}
	if e.RawPath != nil {
		e.Path, e.RawPath = string(e.RawPath), nil
	}
	if e.RawLink != nil {
		e.Link, e.RawLink = string(e.RawLink), nil
	}
	return nil
}

// index is a tree's entries by path.
type index map[string]*entry

func (x index) sorted() []*entry {
	all := make([]*entry, 0, len(x))
	for _, e := range x {
		all = append(all, e)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Path < all[j].Path })
	return all
}

// write gives the same bytes for the same tree.
func (x index) write(w io.Writer) error {
	z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return err
	}
	buf := bufio.NewWriterSize(z, 256<<10)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	for _, e := range x.sorted() {
		if err := enc.Encode(e.line()); err != nil {
			return errors.Join(err, z.Close())
		}
	}
	return errors.Join(buf.Flush(), z.Close())
}

// readIndex reads and checks the index of a tree that has so many layers.
func readIndex(r io.Reader, t Tree) (index, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	lines := bufio.NewScanner(z)
	lines.Buffer(make([]byte, 4<<10), maxLine)
	x := make(index, min(t.Entries, 1<<20))
	left := t.Bytes // what is shown of a snapshot is what it unpacks to
	for lines.Scan() {
		e := &entry{}
		if err := e.parse(lines.Bytes()); err != nil {
			return nil, sdk.Errorf(sdk.Invalid, "line %d of its index cannot be read: %v", len(x)+1, err)
		}
		if err := e.check(len(t.Layers)); err != nil {
			return nil, err
		}
		if x[e.Path] != nil || int64(len(x)) >= t.Entries {
			return nil, sdk.Errorf(sdk.Invalid, "its index has %.200q twice, or more than the %d entries that it promises", e.Path, t.Entries)
		}
		if e.Type == typeFile {
			if left -= e.Size; left < 0 {
				return nil, sdk.Errorf(sdk.Invalid, "its index has more than the %d bytes that it promises", t.Bytes)
			}
		}
		x[e.Path] = e
	}
	if err := lines.Err(); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "its index cannot be read: %v", err)
	}
	if int64(len(x)) != t.Entries {
		return nil, sdk.Errorf(sdk.Invalid, "its index has %d of %d entries", len(x), t.Entries)
	}
	return x, x.check()
}

func (e *entry) check(layers int) error {
	bad := func(what string) error {
		return sdk.Errorf(sdk.Invalid, "its index has %.200q with %s", e.Path, what)
	}
	switch {
	case !plainPath(e.Path):
		return bad("a path that leads out of it")
	case e.Size < 0 || e.Mode < 0 || e.Mode > 0o7777 || e.UID < 0 || e.GID < 0:
		return bad("a size, a mode or an owner that cannot be")
	case strings.Contains(e.Link, "\x00") || len(e.Link) > maxPath:
		return bad("a link that cannot be")
	}
	switch e.Type {
	case typeFile:
		if e.Layer < 0 || e.Layer >= layers || !digestForm().MatchString("sha256:"+e.SHA256) {
			return bad("a layer or a hash that cannot be")
		}
	case typeLink:
		if !plainPath(e.Link) {
			return bad("a link that leads out of it")
		}
	case typeDir, typeGone:
	case typeSymlink:
		if e.Link == "" {
			return bad("no target")
		}
	default:
		return bad("an unknown type")
	}
	return nil
}

// check looks at what entries are to each other: nothing is below what is no folder, so
// that nothing is ever written through a link.
func (x index) check() error {
	for p, e := range x {
		if e.Type == typeLink {
			if to := x[e.Link]; to == nil || to.Type != typeFile && to.Type != typeSymlink {
				return sdk.Errorf(sdk.Invalid, "its index has %.200q as a link to %.200q, which is not a file of it", p, e.Link)
			}
		}
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			above := x[dir]
			if above == nil {
				continue
			}
			if above.Type != typeDir {
				return sdk.Errorf(sdk.Invalid, "its index has %.200q below %.200q, which is not a folder", p, dir)
			}
			break
		}
	}
	return nil
}

func plainPath(p string) bool {
	return len(p) <= maxPath && filepath.IsLocal(p) && path.Clean(p) == p && !strings.Contains(p, "\x00")
}

// header is the entry as a tar has it.
func (e *entry) header() *tar.Header {
	h := &tar.Header{Name: e.Path, Mode: e.Mode, Uid: e.UID, Gid: e.GID, ModTime: time.Unix(0, e.MTime), Format: tar.FormatPAX}
	if e.MTime%int64(time.Second) == 0 {
		h.Format = tar.FormatUnknown // the least that it fits in
	}
	switch e.Type {
	case typeFile:
		h.Typeflag, h.Size = tar.TypeReg, e.Size
	case typeDir:
		h.Typeflag, h.Name = tar.TypeDir, e.Path+"/"
		if e.Opaque {
			h.Format, h.PAXRecords = tar.FormatPAX, map[string]string{overlayKey: "y"}
		}
	case typeSymlink:
		h.Typeflag, h.Linkname = tar.TypeSymlink, e.Link
	case typeLink:
		h.Typeflag, h.Linkname = tar.TypeLink, e.Link
	case typeGone:
		h.Typeflag = tar.TypeChar
	}
	return h
}
