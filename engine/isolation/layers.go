package isolation

import (
	"archive/tar"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// A layer is a tar file with whiteouts as OCI images have them. gVisor's own tar
// files name the same things in the way of overlayfs: a device 0,0, which several
// names may be links to, and an attribute of a folder.
const (
	whiteout    = ".wh."
	opaqueFile  = ".wh..wh..opq"
	opaqueXattr = "SCHILY.xattr.trusted.overlay.opaque"
)

// layerName is the name of an entry below the root, without a slash at its ends;
// "." is the root itself. A name that leads out of the root is refused.
func layerName(name string) (string, error) {
	clean := path.Clean(strings.TrimLeft(name, "/"))
	if clean == ".." || strings.HasPrefix(clean, "../") || strings.Contains(name, "\x00") {
		return "", sdk.Errorf(sdk.Invalid, "the layer has the name %q, which leads out of the tree", name)
	}
	return clean, nil
}

// saveLayer turns what gVisor writes into a layer.
func saveLayer(w io.Writer, r io.Reader) error {
	in, out := tar.NewReader(r), tar.NewWriter(w)
	gone, links := map[string]bool{}, map[string]string{}
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out.Close()
		}
		if err != nil {
			return err
		}
		name, err := layerName(h.Name)
		if err != nil {
			return err
		}
		if err := checkKind(name, h); err != nil {
			return err
		}
		if strings.HasPrefix(name, "tmp/") || strings.HasPrefix(name, "run/") {
			continue // what is there is not meant to stay
		}
		if isDevice00(h) || h.Typeflag == tar.TypeLink && gone[linkName(h)] {
			gone[name] = true
			if err := out.WriteHeader(emptyFile(path.Join(path.Dir(name), whiteout+path.Base(name)), h)); err != nil {
				return err
			}
			continue
		}
		opaque := h.Typeflag == tar.TypeDir && h.PAXRecords[opaqueXattr] == "y"
		h.Name, h.PAXRecords = outName(name, h.Typeflag), without(h.PAXRecords, "SCHILY.xattr.trusted.overlay.")
		switch h.Typeflag {
		case tar.TypeSymlink:
			links[name] = h.Linkname
		case tar.TypeLink:
			h.Linkname = linkName(h)
			if target, ok := links[h.Linkname]; ok { // a second name of a symbolic link, which gVisor does not read back
				h.Typeflag, h.Linkname = tar.TypeSymlink, target
			}
		}
		if err := copyEntry(out, in, h); err != nil {
			return err
		}
		if opaque {
			if err := out.WriteHeader(emptyFile(path.Join(name, opaqueFile), h)); err != nil {
				return err
			}
		}
	}
}

// checkKind refuses what cannot be in a tree. Holes in a file would let some bytes
// fill a disk.
func checkKind(name string, h *tar.Header) error {
	switch h.Typeflag {
	case tar.TypeDir, tar.TypeReg, tar.TypeSymlink, tar.TypeLink, tar.TypeFifo, tar.TypeChar, tar.TypeBlock:
	default:
		return sdk.Errorf(sdk.Invalid, "%s is of a kind that cannot be in a tree (%q)", name, h.Typeflag)
	}
	for record := range h.PAXRecords {
		if strings.HasPrefix(record, "GNU.sparse.") {
			return sdk.Errorf(sdk.Invalid, "%s is a file with holes, which a layer cannot have", name)
		}
	}
	return nil
}

func isDevice00(h *tar.Header) bool {
	return h.Typeflag == tar.TypeChar && h.Devmajor == 0 && h.Devminor == 0
}

func linkName(h *tar.Header) string { return path.Clean(strings.TrimLeft(h.Linkname, "/")) }

func emptyFile(name string, like *tar.Header) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, ModTime: like.ModTime}
}

func outName(name string, kind byte) string {
	if kind == tar.TypeDir {
		return name + "/"
	}
	return name
}

func without(records map[string]string, prefix string) map[string]string {
	var out map[string]string
	for k, v := range records {
		if !strings.HasPrefix(k, prefix) {
			if out == nil {
				out = map[string]string{}
			}
			out[k] = v
		}
	}
	return out
}

func copyEntry(out *tar.Writer, in io.Reader, h *tar.Header) error {
	h.Format = tar.FormatUnknown // the writer chooses what fits
	h.Xattrs = nil               //nolint:staticcheck // the reader fills it, too, and the writer would write it
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	if h.Typeflag != tar.TypeReg {
		return nil
	}
	_, err := io.Copy(out, in)
	return err
}
