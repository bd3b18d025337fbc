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

// keepHost is how long a host is remembered that a plugin no longer uses: no machine on it
// should live longer, and one that is gone for good is not asked for ever.
const keepHost = 30 * 24 * time.Hour

// sshHosts remembers on which hosts plugins have run something, so that they find machines
// there which no experiment names any more. Each plugin has a file: host → when it was last used.
type sshHosts struct {
	dir func(elem ...string) (string, error)
	now func() time.Time
}

// Used implements [host.SSHHosts]. It writes at most once a day for a host.
func (h sshHosts) Used(plugin, host string) error {
	file, err := h.file(plugin)
	if err != nil {
		return err
	}
	if all, err := h.read(file); err == nil && h.now().Sub(all[host]).Abs() < 24*time.Hour {
		return nil
	}
	return state.Locked(context.Background(), file+".lock", func() error {
		all, err := h.read(file)
		if err != nil {
			return err
		}
		all[host] = h.now()
		maps.DeleteFunc(all, func(_ string, last time.Time) bool { return h.now().Sub(last) > keepHost })
		data, err := json.Marshal(all)
		if err != nil {
			return err
		}
		return state.WriteFile(file, data, 0o600)
	})
}

// Of implements [host.SSHHosts].
func (h sshHosts) Of(plugin string) ([]string, error) {
	file, err := h.file(plugin)
	if err != nil {
		return nil, err
	}
	all, err := h.read(file)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(all, func(_ string, last time.Time) bool { return h.now().Sub(last) > keepHost })
	return slices.AppendSeq([]string{}, slices.Values(slices.Sorted(maps.Keys(all)))), nil
}

func (h sshHosts) file(plugin string) (string, error) {
	dir, err := h.dir("hosts")
	return filepath.Join(dir, plugin+".json"), err
}

func (sshHosts) read(file string) (map[string]time.Time, error) {
	all := map[string]time.Time{}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("the hosts that plugins have used cannot be read: %w; remove %s if it is damaged", err, file)
	}
	return all, nil
}
