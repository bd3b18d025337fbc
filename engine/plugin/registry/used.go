package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/seer-engine/seer/engine/state"
)

// keepUsed is how long a place is remembered that a plugin no longer uses: no machine there
// should live longer, and one that is gone for good is not asked for ever.
const keepUsed = 30 * 24 * time.Hour

// used remembers where plugins have made something, so that they find machines there which no
// experiment names any more. Each plugin has a file in a folder of the state: place → when it
// was last used.
type used struct {
	dir    func(elem ...string) (string, error)
	now    func() time.Time
	folder string
}

// note writes at most once a day for a place.
func (u used) note(plugin, place string) error {
	file, err := u.file(plugin)
	if err != nil {
		return err
	}
	if all, err := u.read(file); err == nil && u.now().Sub(all[place]).Abs() < 24*time.Hour {
		return nil
	}
	return u.change(file, func(all map[string]time.Time) { all[place] = u.now() })
}

func (u used) forget(plugin, place string) error {
	file, err := u.file(plugin)
	if err != nil {
		return err
	}
	return u.change(file, func(all map[string]time.Time) { delete(all, place) })
}

func (u used) change(file string, change func(map[string]time.Time)) error {
	return state.Locked(context.Background(), file+".lock", func() error {
		all, err := u.read(file)
		if err != nil {
			return err
		}
		change(all)
		maps.DeleteFunc(all, func(_ string, last time.Time) bool { return u.now().Sub(last) > keepUsed })
		data, err := json.Marshal(all)
		if err != nil {
			return err
		}
		return state.WriteFile(file, data, 0o600)
	})
}

// of are the places of a plugin, sorted.
func (u used) of(plugin string) ([]string, error) {
	file, err := u.file(plugin)
	if err != nil {
		return nil, err
	}
	all, err := u.read(file)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(all, func(_ string, last time.Time) bool { return u.now().Sub(last) > keepUsed })
	return slices.AppendSeq([]string{}, slices.Values(slices.Sorted(maps.Keys(all)))), nil
}

func (u used) file(plugin string) (string, error) {
	dir, err := u.dir(u.folder)
	return filepath.Join(dir, plugin+".json"), err
}

func (u used) read(file string) (map[string]time.Time, error) {
	all := map[string]time.Time{}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("the %s that plugins have used cannot be read: %w; remove %s if it is damaged", u.folder, err, file)
	}
	return all, nil
}
