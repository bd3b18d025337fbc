package runs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/seer-engine/seer/engine/errdefs"
)

// readers is how many logs are read at the same time.
const readers = 4

// List lists the runs in folders, newest first. Each root is a folder with runs in it, or that of
// one run; one that does not exist has none. The error names runs that cannot be read; the others
// come with it.
func List(roots ...string) ([]Summary, error) {
	dirs, err := folders(roots)
	var mu sync.Mutex
	all, errs := []Summary{}, []error{err}
	var work errgroup.Group
	work.SetLimit(readers)
	for _, dir := range dirs {
		work.Go(func() error {
			r, err := Open(dir)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				all = append(all, r.Summary)
			} else if !errors.Is(err, fs.ErrNotExist) { // removed meanwhile, or no run
				errs = append(errs, err)
			}
			return nil
		})
	}
	_ = work.Wait() // none of them fails
	slices.SortFunc(all, func(a, b Summary) int {
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(b.Dir, a.Dir))
	})
	return all, errors.Join(errs...)
}

// folders are the folders of runs in roots, each once. Links in a root, such as latest, are not
// followed.
func folders(roots []string) ([]string, error) {
	var all []string
	var errs []error
	seen := map[string]bool{}
	add := func(dir string) {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil && !seen[real] {
			seen[real] = true
			all = append(all, dir)
		}
	}
	for _, root := range roots {
		root, err := filepath.Abs(root)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if isRun(root) {
			add(root)
			continue
		}
		entries, err := os.ReadDir(root)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("list runs: %w", err))
		}
		for _, e := range entries {
			if dir := filepath.Join(root, e.Name()); e.IsDir() && isRun(dir) {
				add(dir)
			}
		}
	}
	return all, errors.Join(errs...)
}

func isRun(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, EventsName))
	return err == nil && info.Mode().IsRegular()
}

// Find finds a run by its ID, an unambiguous beginning of the ID (with or without run-), the path
// or the name of its folder, or "latest", which is the newest of all roots. A ref that no run or
// several have is [errdefs.KindNotFound].
func Find(ref string, roots ...string) (*Run, error) {
	if strings.ContainsRune(ref, filepath.Separator) || ref != "" && isRun(ref) {
		return Open(ref)
	}
	dirs, err := folders(roots)
	var found []known
	for _, dir := range dirs {
		if k, ok := identify(dir); ok {
			found = append(found, k)
		}
	}
	if ref == LatestName && len(found) > 0 {
		newest := slices.MaxFunc(found, func(a, b known) int { return cmp.Or(a.started.Compare(b.started), cmp.Compare(a.dir, b.dir)) })
		return Open(newest.dir)
	}
	matches := choose(ref, found)
	switch len(matches) {
	case 1:
		return Open(matches[0].dir)
	case 0:
		if ref == LatestName {
			return nil, errors.Join(&errdefs.Error{Kind: errdefs.KindNotFound, Err: errors.New("there is no run yet, neither here nor among those that Seer remembers")}, err)
		}
		missing := fmt.Errorf("there is no run %q: none of the %d runs that are known has that ID or folder; list the runs", ref, len(found))
		return nil, errors.Join(&errdefs.Error{Kind: errdefs.KindNotFound, Err: missing}, err)
	}
	var names []string
	for _, m := range matches {
		names = append(names, m.id+" ("+filepath.Base(m.dir)+")")
	}
	return nil, &errdefs.Error{Kind: errdefs.KindNotFound, Err: fmt.Errorf("%q means several runs: %s; write more of the ID, or the name of the folder", ref, strings.Join(first(names, 10), ", "))}
}

// choose are the runs that ref means: those with exactly this ID or name, else those whose ID begins
// with it.
func choose(ref string, all []known) []known {
	var exact, begun []known
	for _, k := range all {
		switch hex := strings.TrimPrefix(k.id, idPrefix); {
		case ref == k.id || ref == hex || ref == filepath.Base(k.dir):
			exact = append(exact, k)
		case ref != "" && ref != idPrefix && (strings.HasPrefix(k.id, ref) || strings.HasPrefix(hex, ref)):
			begun = append(begun, k)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return begun
}

// first are the first n texts, and "…" if there are more.
func first(texts []string, n int) []string {
	if len(texts) <= n {
		return texts
	}
	return append(slices.Clone(texts[:n]), "…")
}
