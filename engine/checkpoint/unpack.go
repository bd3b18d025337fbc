package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/provision"
	"github.com/seer-engine/seer/engine/snapshot"
)

// memoryPrefix is before the names of the parts of a snapshot that are no trees.
const memoryPrefix = "memory/"

// memoryFiles are the files of a folder with saved processes: name in a snapshot → path.
// Trees are under their names.
func memoryFiles(dir string) (map[string]string, error) {
	files := map[string]string{}
	for sub, prefix := range map[string]string{local.MemoryImages: memoryPrefix, local.MemoryTrees: "", "": memoryPrefix} {
		entries, err := os.ReadDir(filepath.Join(dir, sub))
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if entry.Type().IsRegular() {
				files[prefix+entry.Name()] = filepath.Join(dir, sub, entry.Name())
			}
		}
	}
	return files, nil
}

func memorySources(dir string) ([]snapshot.Source, error) {
	files, err := memoryFiles(dir)
	if err != nil {
		return nil, err
	}
	var sources []snapshot.Source
	for name, path := range files {
		sources = append(sources, snapshot.Source{
			Name: strings.TrimSuffix(name, ".tar"), Opaque: strings.HasPrefix(name, memoryPrefix), File: path,
			Open: func(context.Context) (io.ReadCloser, error) { return os.Open(path) },
		})
	}
	slices.SortFunc(sources, func(a, b snapshot.Source) int { return strings.Compare(a.Name, b.Name) })
	return sources, nil
}

// verification is of files of a snapshot that are in use already.
type verification struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
	mu      sync.Mutex
	err     error
}

// see runs one of its checks beside the others.
func (v *verification) see(ctx context.Context, check func(context.Context) error) {
	v.running.Go(func() { v.add(check(ctx)) })
}

func (v *verification) add(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.err = errors.Join(v.err, err)
}

// result waits for all checks and says what is not as it was saved.
func (v *verification) result() error {
	v.running.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.err
}

// stop ends the checks, whose result nobody wants any more.
func (v *verification) stop() {
	v.cancel()
	v.running.Wait()
}

// unpackMemory puts a snapshot into a folder as [Checkpointer.save] has filled it, all of
// its parts at once. What is large is verified from then on until the verification, which
// is to be stopped, has its result; the rest is verified.
func unpackMemory(ctx context.Context, store *snapshot.Store, saved snapshot.Snapshot, dir string) (*verification, error) {
	for _, sub := range []string{local.MemoryImages, local.MemoryTrees} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	places, err := memoryPlaces(saved)
	if err != nil {
		return nil, err
	}
	checking, cancel := context.WithCancel(ctx)
	v := &verification{cancel: cancel}
	errs := make(chan error, len(places))
	for name, place := range places {
		go func() {
			check, err := store.Place(checking, saved, name, filepath.Join(dir, place))
			if err == nil {
				v.see(checking, check)
			}
			errs <- err
			if err != nil {
				cancel() // the others are of no use
			}
		}()
	}
	for range places {
		err = cmp.Or(err, <-errs) // the first is the reason of the others
	}
	if err != nil {
		v.stop()
		return nil, err
	}
	return v, nil
}

// memoryPlaces says where the parts of a snapshot belong: name → path in the folder.
func memoryPlaces(saved snapshot.Snapshot) (map[string]string, error) {
	places := map[string]string{}
	for _, t := range saved.Trees {
		places[t.Name] = filepath.Join(local.MemoryTrees, t.Name+".tar")
	}
	for _, b := range saved.Blobs {
		name := strings.TrimPrefix(b.Name, memoryPrefix)
		if strings.HasSuffix(name, ".img") {
			name = filepath.Join(local.MemoryImages, name)
		}
		places[b.Name] = name
	}
	for _, name := range slices.Sorted(maps.Keys(places)) {
		if !filepath.IsLocal(places[name]) {
			return nil, fmt.Errorf("the snapshot %s has a part %q, which no snapshot of memory has", saved.Name, name)
		}
	}
	return places, nil
}

// verifyRate is how many bytes of saved memory a slow disk and processor verify in a second.
const verifyRate = 50 << 20

// bootTime is how long the machine of saved processes waits for us: while it starts, and
// until its whole memory has been read.
func bootTime(dir string) (time.Duration, error) {
	files, err := memoryFiles(dir)
	if err != nil {
		return 0, err
	}
	var bytes int64
	for _, path := range files {
		info, err := os.Stat(path)
		if err != nil {
			return 0, err
		}
		bytes += info.Size()
	}
	return provision.BootTimeout + time.Duration(bytes/verifyRate)*time.Second, nil
}
