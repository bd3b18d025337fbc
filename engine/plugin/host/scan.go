package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/plainfile"
	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/wasmfile"
)

// dir is a folder with plugins.
type dir struct {
	path     string
	optional bool
}

// found is a plugin, or what is wrong with one.
type found struct {
	plugin Plugin
	err    error
}

// scanner reads plugin folders. A file that has not changed is not read again.
type scanner struct {
	notes   notes // of earlier processes
	version string
	mu      sync.Mutex
	known   map[string]seen     // by path of the .wasm
	held    map[string][]string // folder → IDs of the plugins that were in it
}

type seen struct {
	wasm, yaml stamp
	found
}

type stamp struct {
	size int64
	time time.Time
}

func (s *scanner) scan(ctx context.Context, dirs []dir, limits Limits, broken map[string]error) []found {
	var all []found
	for _, id := range slices.Sorted(maps.Keys(broken)) {
		all = append(all, found{err: &Error{Fault: FaultCorrupt, Plugin: id, Err: broken[id]}})
	}
	visited := map[string]bool{}
	for _, d := range dirs {
		if visited[d.path] || ctx.Err() != nil {
			continue
		}
		visited[d.path] = true
		all = append(all, s.folder(d, limits)...)
	}
	return hideDuplicates(all)
}

func (s *scanner) folder(d dir, limits Limits) []found {
	entries, err := os.ReadDir(d.path)
	ids, known := s.had(d.path)
	switch {
	case d.optional && errors.Is(err, fs.ErrNotExist):
		return nil
	case known && errors.Is(err, fs.ErrNotExist):
		return uninstalled(d.path, ids)
	case errors.Is(err, fs.ErrNotExist):
		err = errors.New("this plugin folder does not exist; create it, or correct the list of plugin folders (SEER_PLUGIN_DIR, or where they were named)")
		fallthrough
	case err != nil:
		return []found{{err: &Error{Fault: FaultFolder, File: d.path, Err: err}}}
	}
	var out []found
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue // files being written
		}
		path := filepath.Join(d.path, e.Name())
		if strings.HasSuffix(path, ".wasm") {
			out = append(out, s.file(path, limits))
		} else if stem, ok := strings.CutSuffix(e.Name(), ".yaml"); ok && !hasFile(entries, stem+".wasm") {
			out = append(out, found{err: &Error{Fault: FaultCorrupt, Plugin: stem, File: path, Err: fmt.Errorf("%s.wasm is missing beside it; copy both files", stem)}})
		}
	}
	s.hold(d.path, out)
	return out
}

// hold remembers which plugins are in a folder.
func (s *scanner) hold(dir string, in []found) {
	var ids []string
	for _, f := range in {
		var e *Error
		if errors.As(f.err, &e) {
			ids = append(ids, e.Plugin)
		} else {
			ids = append(ids, f.plugin.Manifest.ID)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = map[string][]string{}
	}
	s.held[dir] = ids
}

// had is which plugins were in a folder, if this program has seen it.
func (s *scanner) had(dir string) (ids []string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids, known = s.held[dir]
	return ids, known
}

// uninstalled are the faults of plugins whose folder another program has removed. They concern no
// other plugin: a machine that was rented by one has to be ended.
func uninstalled(dir string, ids []string) (out []found) {
	for _, id := range ids {
		out = append(out, found{err: &Error{Fault: FaultCorrupt, Plugin: id, File: dir,
			Err: errors.New("was removed while this program runs; install it again, and start this program again")}})
	}
	return out
}

func hasFile(entries []fs.DirEntry, name string) bool {
	for _, e := range entries {
		if e.Name() == name {
			return true
		}
	}
	return false
}

func (s *scanner) file(path string, limits Limits) found {
	now := seen{wasm: stampOf(path), yaml: stampOf(manifestPath(path))}
	s.mu.Lock()
	old, ok := s.known[path]
	s.mu.Unlock()
	if ok && old.wasm == now.wasm && old.yaml == now.yaml {
		return old.found
	}
	now.plugin, now.err = s.read(path, limits)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[string]seen{}
	}
	s.known[path] = now
	return now.found
}

// read takes what an earlier process has found out about the same files: hashing
// all plugins takes longer than a bare start of a sandbox. What is loaded later is
// hashed in any case.
func (s *scanner) read(path string, limits Limits) (Plugin, error) {
	key := pluginKey(path, limits)
	var known Plugin
	if s.notes.get(path, key, &known) && known.File == path {
		return known, nil
	}
	p, err := readPlugin(path, limits, s.version)
	if err == nil && key == pluginKey(path, limits) {
		s.notes.put(path, key, p)
	}
	return p, err
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{size: -1}
	}
	return stamp{info.Size(), info.ModTime()}
}

func manifestPath(wasm string) string { return strings.TrimSuffix(wasm, ".wasm") + ".yaml" }

// readPlugin learns all that can be known without compiling.
func readPlugin(path string, limits Limits, version string) (Plugin, error) {
	stem := strings.TrimSuffix(filepath.Base(path), ".wasm")
	p := Plugin{Manifest: sdk.Manifest{ID: stem}, File: path}
	code, err := plainfile.ReadNamed(path, maxModule)
	if err != nil {
		return p, fault(FaultCorrupt, p, "cannot be read: %w", err)
	}
	module, err := wasmfile.Parse(code)
	if err != nil {
		return p, fault(FaultCorrupt, p, "%w; build or copy it again", err)
	}
	if p.Manifest, err = readManifest(p, module, limits); err != nil {
		return p, forNewer(p, err, needsOf(module), version)
	}
	if p.Manifest.ID != stem {
		id := p.Manifest.ID
		p.Manifest.ID = stem
		return p, fault(FaultManifest, p, "its manifest is of %q; the files of a plugin are <id>.wasm and <id>.yaml", id)
	}
	if err := checkInterface(p, module, version); err != nil {
		return p, err
	}
	p.Digest = digestOf(code)
	if p.Access = access.Of(p.Manifest); p.Access == nil {
		p.Access = access.Set{} // a list in JSON
	}
	p.Hash = p.Access.Hash()
	isProvider := implements(p.Manifest, sdk.KindProvider)
	p.Accounts = isProvider && module.HasExport(sdk.ExportProviderAccount)
	p.Routes = isProvider && module.HasExport(sdk.ExportProviderRoute)
	p.Snapshots = isProvider && module.HasExport(sdk.ExportProviderSnapshot)
	p.Checks = isProvider && module.HasExport(sdk.ExportProviderCheck)
	p.Cleans = isProvider && module.HasExport(sdk.ExportProviderClean)
	return p, nil
}

// readManifest takes the file beside the .wasm and the embedded section; one is
// enough, two must agree.
func readManifest(p Plugin, module wasmfile.Module, limits Limits) (sdk.Manifest, error) {
	file := manifestPath(p.File)
	text, err := plainfile.ReadNamed(file, maxManifest)
	embedded, has := module.Custom(sdk.ManifestSection)
	switch {
	case err == nil:
	case !errors.Is(err, fs.ErrNotExist):
		return p.Manifest, fault(FaultManifest, p, "its manifest cannot be read: %w", err)
	case !has:
		return p.Manifest, fault(FaultManifest, p, "it has no manifest; put %s beside it", filepath.Base(file))
	default:
		m, err := parseManifest(p.File+"#"+sdk.ManifestSection, embedded, limits)
		return m, manifestFault(p, err)
	}
	m, err := parseManifest(file, text, limits)
	if err != nil || !has {
		return m, manifestFault(p, err)
	}
	inside, err := parseManifest(p.File+"#"+sdk.ManifestSection, embedded, limits)
	if err != nil {
		return m, manifestFault(p, err)
	}
	if !sameManifest(m, inside) {
		return m, fault(FaultManifest, p, "%s says something else than the manifest inside the .wasm; copy both files of one build", filepath.Base(file))
	}
	return m, nil
}

func manifestFault(p Plugin, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errVersion):
		return fault(FaultVersion, p, "%w", err)
	default:
		return fault(FaultManifest, p, "invalid manifest: %w", err)
	}
}

// forNewer adds to an error about a manifest that it is for a newer program.
func forNewer(p Plugin, err error, needs sdk.Needs, version string) error {
	newer, known := newerSeer(needs.Seer, version), release(version) != ""
	var e *Error
	if newer == "" || !errors.As(err, &e) || e.Fault != FaultVersion && !known {
		return err
	}
	return fault(FaultVersion, p, "%s: %w", newer, e.Err)
}

func digestOf(code []byte) string {
	sum := sha256.Sum256(code)
	return "sha256:" + hex.EncodeToString(sum[:])
}
