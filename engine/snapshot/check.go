package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"unicode"

	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

var (
	nameForm   = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	treeForm   = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$`)
	digestForm = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)
	sumForm    = lazyregexp.New(`^[0-9a-f]{32}$`)
)

// What a document may hold at most.
const (
	maxDocument    = 4 << 20
	maxDescription = 4 << 10
	maxLayers      = 64
	maxParts       = 4096
)

// CheckName accepts what a snapshot can be called: letters, digits, dots, dashes and
// underscores, at most 63, and not only hexadecimal digits that an ID could begin with.
func CheckName(name string) error {
	if !nameForm().MatchString(name) || name == NoParent || idPrefix().MatchString(name) {
		return sdk.Errorf(sdk.Invalid, "%.80q is not a name for a snapshot; use letters, digits, dots, dashes and underscores, at most 63, beginning with a letter or digit, and not like an ID", name)
	}
	return nil
}

func parseDocument(data []byte) (document, error) {
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return d, sdk.Errorf(sdk.Invalid, "its document cannot be read: %v", err)
	}
	if d.Version != version {
		return d, sdk.Errorf(sdk.Unsupported, "its format has the version %d; this Seer reads version %d", d.Version, version)
	}
	return d, d.check()
}

func (d document) check() error {
	if err := d.Meta.check(); err != nil {
		return err
	}
	if len(d.parts()) > maxParts {
		return sdk.Errorf(sdk.Invalid, "it has more than %d parts", maxParts)
	}
	seen := map[string]bool{}
	for _, t := range d.Trees {
		if len(t.Layers) > maxLayers || t.Entries < 0 || t.Entries > maxEntries {
			return sdk.Errorf(sdk.Invalid, "the tree %.80q has %d layers and %d entries, which is not accepted", t.Name, len(t.Layers), t.Entries)
		}
		if err := checkPart(t.Name, seen, append([]Part{t.Index}, t.Layers...)); err != nil {
			return err
		}
	}
	for _, b := range d.Blobs {
		if !digestForm().MatchString(b.Digest) || b.Bytes < 0 {
			return sdk.Errorf(sdk.Invalid, "%.80q has no digest", b.Name)
		}
		if err := errors.Join(b.checkPlain(), checkPart(b.Name, seen, []Part{b.Part})); err != nil {
			return err
		}
	}
	return nil
}

func checkPart(name string, seen map[string]bool, parts []Part) error {
	if !treeForm().MatchString(name) || !filepath.IsLocal(name) || seen[name] {
		return sdk.Errorf(sdk.Invalid, "%.80q is not a name for a part of a snapshot, or is there twice", name)
	}
	seen[name] = true
	for _, p := range parts {
		if !digestForm().MatchString(p.Digest) || p.Size < 0 {
			return sdk.Errorf(sdk.Invalid, "a part of %q has the digest %.80q and %d bytes, which cannot be", name, p.Digest, p.Size)
		}
	}
	return nil
}

// check holds texts, which end up on terminals, to what can be printed.
func (m Meta) check() error {
	if m.Kind != FileSystem && m.Kind != Memory {
		return sdk.Errorf(sdk.Unsupported, "a snapshot of the kind %.40q; there are %s and %s", m.Kind, FileSystem, Memory)
	}
	texts := map[string]string{"sandbox": m.Sandbox, "provider": m.Provider, "isolation": m.Isolation, "experiment": m.Experiment,
		"image": m.Image, "seer": m.Seer, "description": m.Description, "parent": m.Parent}
	for i, key := range m.Layers {
		texts[fmt.Sprintf("layers[%d]", i)] = key
	}
	for name, value := range m.Labels {
		texts["labels"] += name
		texts["labels."+name] = value
	}
	for field, text := range texts {
		if !printable(text) {
			return sdk.Errorf(sdk.Invalid, "%.80q of the snapshot has characters that cannot be printed", field)
		}
		if len(text) > maxDescription && field != "labels" && len(text) > maxDocument/4 || field == "description" && len(text) > maxDescription {
			return sdk.Errorf(sdk.Invalid, "%.80q of the snapshot is %d bytes long; at most %d are kept", field, len(text), maxDescription)
		}
	}
	return nil
}

func printable(text string) bool {
	for _, r := range text {
		if !unicode.IsPrint(r) && r != '\n' && r != '\t' {
			return false
		}
	}
	return true
}
