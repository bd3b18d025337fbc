package isolation

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// entry is where a name of the merged tree comes from.
type entry struct {
	layer, index int
	kind         byte
	link         string // target of a hard link
	gone         bool   // a whiteout
	opaque       bool   // a folder that hides what lies below
}

// merge lays layers on each other, lowest first, and writes them as one tar file
// that gVisor reads.
func merge(w io.Writer, layers []string) error {
	m := merger{layers: layers, have: map[string]*entry{}}
	for n := len(layers) - 1; n >= 0; n-- {
		if err := m.index(n); err != nil {
			return fmt.Errorf("the layer %s: %w", layers[n], err)
		}
	}
	if err := m.parents(); err != nil {
		return err
	}
	m.promote()
	out := tar.NewWriter(w)
	if err := m.writeOwn(out); err != nil {
		return err
	}
	for n := range layers {
		if err := m.write(out, n); err != nil {
			return fmt.Errorf("the layer %s: %w", layers[n], err)
		}
	}
	return out.Close()
}

type merger struct {
	layers []string
	have   map[string]*entry
	// renamed has, for a file that an upper layer hides while other names of it stay,
	// the name that gets its content.
	renamed map[string]string
}

func renameKey(layer int, name string) string { return fmt.Sprintf("%d/%s", layer, name) }

// each calls do for the entries of a layer.
func (m *merger) each(n int, do func(index int, name string, h *tar.Header, in io.Reader) error) error {
	f, err := os.Open(m.layers[n])
	if err != nil {
		return err
	}
	defer f.Close()
	in := tar.NewReader(f)
	for index := 0; ; index++ {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := layerName(h.Name)
		if err != nil {
			return err
		}
		if err := do(index, name, h, in); err != nil {
			return err
		}
	}
}

func (m *merger) index(n int) error {
	mine := map[string]*entry{}
	err := m.each(n, func(index int, name string, h *tar.Header, _ io.Reader) error {
		if err := checkKind(name, h); err != nil {
			return err
		}
		base := path.Base(name)
		switch {
		case base == opaqueFile:
			m.at(mine, path.Dir(name), n).opaque = true
		case strings.HasPrefix(base, whiteout):
			m.remove(mine, path.Join(path.Dir(name), strings.TrimPrefix(base, whiteout)), n)
		case isDevice00(h):
			m.remove(mine, name, n)
		default:
			e := &entry{layer: n, index: index, kind: h.Typeflag}
			if h.Typeflag == tar.TypeLink {
				e.link = linkName(h)
			}
			if old := mine[name]; old != nil {
				e.opaque = old.opaque || old.gone
			}
			mine[name] = e
		}
		return nil
	})
	if err != nil {
		return err
	}
	visible := map[string]*entry{}
	for name, e := range mine {
		for hops := 0; e.kind == tar.TypeLink && mine[e.link] != nil && mine[e.link].kind == tar.TypeLink && hops < 8; hops++ {
			e.link = mine[e.link].link
		}
		if e.kind == tar.TypeLink && (mine[e.link] == nil || mine[e.link].gone || mine[e.link].kind != tar.TypeReg) {
			return sdk.Errorf(sdk.Invalid, "%s is a link to %s, which is not a file in it", name, e.link)
		}
		if !m.hidden(name) {
			visible[name] = e
		}
	}
	for name, e := range visible {
		if old := m.have[name]; old != nil { // two folders: that of the upper layer, and what both hide
			old.opaque = old.opaque || e.opaque || e.gone || e.kind != tar.TypeDir
			continue
		}
		m.have[name] = e
	}
	return nil
}

// remove notes a whiteout. What the same layer has under that name stays, and hides
// all that lies below.
func (m *merger) remove(mine map[string]*entry, name string, n int) {
	if old := mine[name]; old != nil {
		old.opaque = true
		return
	}
	mine[name] = &entry{layer: n, index: -1, gone: true}
}

// at is the entry of a folder, known or yet to come.
func (m *merger) at(mine map[string]*entry, name string, n int) *entry {
	if mine[name] == nil {
		mine[name] = &entry{layer: n, index: -1, kind: tar.TypeDir}
	}
	return mine[name]
}

// hidden reports whether the layers above hide a name: it is deleted or replaced
// there, or lies in a folder that is. A folder on a folder is not hidden.
func (m *merger) hidden(name string) bool {
	if e := m.have[name]; e != nil && (e.gone || e.kind != tar.TypeDir || e.opaque) {
		return true
	}
	for dir := name; dir != "."; {
		dir = path.Dir(dir)
		if e := m.have[dir]; e != nil && (e.gone || e.opaque || e.kind != tar.TypeDir) {
			return true
		}
	}
	return false
}

// parents adds the folders that gVisor wants to see named.
func (m *merger) parents() error {
	names := make([]string, 0, len(m.have))
	for name := range m.have {
		names = append(names, name)
	}
	for _, name := range names {
		for dir := name; dir != "."; {
			dir = path.Dir(dir)
			switch e := m.have[dir]; {
			case e == nil:
				m.have[dir] = &entry{index: -1, kind: tar.TypeDir}
			case e.gone || e.kind != tar.TypeDir:
				return sdk.Errorf(sdk.Invalid, "the layer %s has %s, but %s is not a folder in it", m.layers[m.have[name].layer], name, dir)
			}
		}
	}
	switch e := m.have["."]; {
	case e == nil:
		m.have["."] = &entry{index: -1, kind: tar.TypeDir}
	case e.gone || e.kind != tar.TypeDir:
		return sdk.Errorf(sdk.Invalid, "a layer removes the root of the tree")
	}
	return nil
}

// promote gives content to links whose file an upper layer hides.
func (m *merger) promote() {
	m.renamed = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(m.have)) {
		e := m.have[name]
		if e.kind != tar.TypeLink {
			continue
		}
		if t := m.have[e.link]; t != nil && t.layer == e.layer && t.kind == tar.TypeReg && t.index >= 0 {
			continue
		}
		if key := renameKey(e.layer, e.link); m.renamed[key] == "" {
			m.renamed[key] = name
		}
	}
}
