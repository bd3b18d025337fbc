package engine

import (
	"errors"
	"path/filepath"
	"slices"
)

// toolsDir is where programs are that Seer has installed for itself, such as code-server
// and gVisor.
func (e *Engine) toolsDir() (string, error) {
	data := e.userDir(e.opts.DataDir, "XDG_DATA_HOME", ".local/share")
	if data == "" {
		return "", errors.New("there is no home folder; set XDG_DATA_HOME")
	}
	return filepath.Join(data, "tools"), nil
}

// places are where runsc is looked for before the system's own folders: where the caller
// says, beside this program, and where Seer installs what it needs.
func (e *Engine) places() []string {
	places := append(slices.Clone(e.opts.ToolDirs), beside(""))
	if dir, err := e.toolsDir(); err == nil {
		places = append(places, dir)
	}
	return places
}

// ToolPlaces are the folders in which tools such as gVisor's program are looked for.
func (e *Engine) ToolPlaces() []string { return e.places() }
