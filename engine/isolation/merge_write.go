package isolation

import (
	"archive/tar"
	"io"
	"maps"
	"slices"
)

// writeOwn writes what no layer has an entry for.
func (m *merger) writeOwn(out *tar.Writer) error {
	for _, name := range slices.Sorted(maps.Keys(m.have)) {
		e := m.have[name]
		h := &tar.Header{Name: dotted(name, e.kind), Typeflag: e.kind, Mode: 0o755}
		switch {
		case e.gone:
			h.Typeflag, h.Mode = tar.TypeChar, 0
		case e.index >= 0:
			continue
		case e.opaque:
			h.PAXRecords = map[string]string{opaqueXattr: "y"}
		}
		if err := out.WriteHeader(h); err != nil {
			return err
		}
	}
	return nil
}

// dotted is a name as gVisor writes it: ./a/b, and ./a/ for a folder.
func dotted(name string, kind byte) string {
	switch {
	case name == ".":
		return "./"
	case kind == tar.TypeDir:
		return "./" + name + "/"
	}
	return "./" + name
}

func (m *merger) write(out *tar.Writer, n int) error {
	return m.each(n, func(index int, name string, h *tar.Header, in io.Reader) error {
		e := m.have[name]
		wins := e != nil && e.layer == n && e.index == index
		renamed := m.renamed[renameKey(n, name)]
		switch {
		case !wins && (renamed == "" || h.Typeflag != tar.TypeReg):
			return nil
		case !wins:
			h.Name = dotted(renamed, h.Typeflag)
		case h.Typeflag == tar.TypeLink:
			target := linkName(h)
			if first := m.renamed[renameKey(n, target)]; first == name {
				return nil // it has been written with the content
			} else if first != "" {
				target = first
			}
			h.Name, h.Linkname = dotted(name, h.Typeflag), dotted(target, tar.TypeReg)
		default:
			h.Name = dotted(name, h.Typeflag)
		}
		h.PAXRecords = without(h.PAXRecords, "SCHILY.xattr.trusted.overlay.")
		if wins && e.opaque {
			if h.PAXRecords == nil {
				h.PAXRecords = map[string]string{}
			}
			h.PAXRecords[opaqueXattr] = "y"
		}
		return copyEntry(out, in, h)
	})
}
