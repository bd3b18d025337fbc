package run

import (
	"fmt"
	"os"
	"path/filepath"
)

// openAbove is the folder around dir where other users can go there, whatever the mode of
// dir itself, and empty where a folder above keeps them out.
func openAbove(dir string) string {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	around := filepath.Dir(dir)
	for p := around; ; p = filepath.Dir(p) {
		if info, err := os.Stat(p); err != nil || info.Mode()&0o001 == 0 {
			return ""
		}
		if p == filepath.Dir(p) {
			return around
		}
	}
}

// closeToOthers takes back what the agent let other users do in the workspace.
func (w *workspace) closeToOthers() error {
	if w.modes == nil || w.leaveOpen {
		return nil
	}
	opened, err := w.modes.Restore()
	if len(opened) > 0 {
		const most = 5 // names
		names := fmt.Sprintf("%q", opened[:min(most, len(opened))])
		w.warn("workspace: the agent opened %d files and folders to other users of this computer, who may have changed them; they are closed now: %s", len(opened), names)
	}
	if err != nil {
		return fmt.Errorf("close the workspace to other users: %w; look at its modes", err)
	}
	return nil
}
