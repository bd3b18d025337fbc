package tartree

import (
	"archive/tar"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/seer-engine/seer/engine/protocol"
)

// Pack writes the content of the folder dir as a tar stream: files, folders
// and symlinks with their modes and times. Sockets and devices are left out. A file that
// grows meanwhile is packed as long as it was; one that becomes shorter is an error and
// the end. What has vanished since its folder was listed, or may not be read, is named in
// a global header at the end of the stream, which [Unpack] makes an error of.
func Pack(w io.Writer, dir string) error {
	tw := tar.NewWriter(w)
	left, err := packFolder(tw, dir, nil)
	if err == nil {
		err = left.write(tw)
	}
	if err != nil {
		return fmt.Errorf("pack the folder %s: %w", dir, err)
	}
	return tw.Close()
}

// PackCounted is [Pack] for a receiver that need not know what is missing. The content of
// files is counted.
func PackCounted(w io.Writer, dir string, count func(int64)) (Unread, error) {
	tw := tar.NewWriter(w)
	left, err := packFolder(tw, dir, count)
	if err != nil {
		return left, fmt.Errorf("pack the folder %s: %w", dir, err)
	}
	return left, tw.Close()
}

func packFolder(tw *tar.Writer, dir string, count func(int64)) (left Unread, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return left, err
	}
	defer root.Close()
	return left, fs.WalkDir(root.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && name != "." {
			err = packEntry(tw, root, name, count)
		}
		return left.add(name, err)
	})
}

// Records of the global header with what is missing in a tree.
const (
	vanishedKey  = "SEER.vanished"
	forbiddenKey = "SEER.forbidden"
)

// maxUnread is how many names an error lists; for more it has the number.
const maxUnread = 10

// Unread are the entries of a tree that could not be read.
type Unread struct{ vanished, forbidden passedOver }

// passedOver are entries that are missing for one reason.
type passedOver struct {
	N     int      `json:"n"`
	Names []string `json:"names"`
}

func (p *passedOver) add(name string) {
	if p.N++; len(p.Names) < maxUnread {
		p.Names = append(p.Names, name)
	}
}

// add takes note of an entry that is passed over, and gives back any other error. Errors
// in the middle of an entry are never of these kinds.
func (u *Unread) add(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		u.vanished.add(name)
	case errors.Is(err, fs.ErrPermission):
		u.forbidden.add(name)
	default:
		return err
	}
	return nil
}

func (u *Unread) write(w *tar.Writer) error {
	records := map[string]string{}
	for key, p := range map[string]passedOver{vanishedKey: u.vanished, forbiddenKey: u.forbidden} {
		if p.N == 0 {
			continue
		}
		text, err := json.Marshal(p)
		if err != nil {
			return err
		}
		records[key] = string(text)
	}
	if len(records) == 0 {
		return nil
	}
	return w.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "unread", PAXRecords: records})
}

// parse reads a global header; one without the records says nothing. A damaged record
// would not be there without a reason.
func (u *Unread) parse(h *tar.Header) {
	for key, p := range map[string]*passedOver{vanishedKey: &u.vanished, forbiddenKey: &u.forbidden} {
		if text, ok := h.PAXRecords[key]; ok && (json.Unmarshal([]byte(text), p) != nil || p.N < 1) {
			*p = passedOver{N: 1, Names: []string{"?"}}
		}
	}
}

// PartialError tells which entries of a folder are missing where it was copied to: they
// vanished meanwhile, or may not be read. All others are there. The code is [protocol.NotFound]
// where all of them had vanished, else [protocol.Invalid].
type PartialError struct{ err *protocol.Error }

func (e *PartialError) Error() string { return e.err.Message }
func (e *PartialError) Unwrap() error { return e.err }

// Err is what a receiver says of it: a [*PartialError], or nil.
func (u *Unread) Err() error {
	code, text := protocol.NotFound, ""
	if v := u.vanished; v.N > 0 {
		text = fmt.Sprintf("%d entries vanished while the folder was read: %s; ", v.N, shownNames(v.Names))
	}
	if f := u.forbidden; f.N > 0 {
		code = protocol.Invalid
		text += fmt.Sprintf("%d entries may not be read: %s; ", f.N, shownNames(f.Names))
	}
	if text == "" {
		return nil
	}
	return &PartialError{protocol.Errorf(code, "%sthe rest was copied", text)}
}

// shownNames are some of the names, for an error.
func shownNames(names []string) string {
	some := make([]string, 0, maxUnread)
	for _, name := range names[:min(len(names), maxUnread)] {
		some = append(some, shownName(name))
	}
	return strings.Join(some, ", ")
}

// shownName is a name that a stranger has sent, harmless for terminals.
func shownName(name string) string {
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		return quoted
	}
	return name
}

func packEntry(tw *tar.Writer, root *os.Root, name string, count func(int64)) error {
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	h := &tar.Header{Name: name, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime(), Format: tar.FormatPAX}
	switch {
	case info.Mode().IsRegular():
		return packFile(tw, root, name, h, count)
	case info.IsDir():
		h.Typeflag, h.Name = tar.TypeDir, name+"/"
	case info.Mode()&fs.ModeSymlink != 0:
		h.Typeflag = tar.TypeSymlink
		if h.Linkname, err = root.Readlink(name); err != nil {
			return err
		}
	default:
		return nil
	}
	return tw.WriteHeader(h)
}

// packFile takes the size from the open file, and no more than that: a log may
// grow meanwhile.
func packFile(tw *tar.Writer, root *os.Root, name string, h *tar.Header, count func(int64)) error {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a named pipe in its place must not block
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return cmp.Or(err, fs.ErrNotExist) // what was listed is not there any more
	}
	h.Typeflag, h.Size = tar.TypeReg, info.Size()
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{tw}, struct{ io.Reader }{Counting(io.LimitReader(f, h.Size), count)}, make([]byte, min(h.Size+1, treeBuffer)))
	if err == nil && n < h.Size {
		err = io.EOF
	}
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s became shorter while it was read: %d of %d bytes", name, n, h.Size)
	}
	return err
}
