package run

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/seer-engine/seer/engine/record"
)

// outputsName is the folder of the workspace that is collected after a run.
const outputsName = "outputs"

// collect moves what the agent left in the outputs folder of its workspace to
// the folder to, and reports how many files there were. Existing files are
// replaced whole. A symbolic link is never followed and never copied: it could
// point at anything of the user's, and the agent may have put one anywhere.
func collect(space *os.Root, to string, warn func(string, ...any)) (int, error) {
	info, err := space.Lstat(outputsName)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if !info.IsDir() {
		warn("outputs: the agent has put something else in the place of the folder; nothing was collected")
		return 0, nil
	}
	src, err := space.OpenRoot(outputsName)
	if err != nil {
		return 0, err
	}
	defer src.Close()
	if err := os.MkdirAll(to, 0o755); err != nil {
		return 0, err
	}
	dst, err := os.OpenRoot(to)
	if err != nil {
		return 0, err
	}
	defer dst.Close()
	files := 0
	err = fs.WalkDir(src.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == "." {
			return err
		}
		name := p
		if first, rest, _ := strings.Cut(p, "/"); first == agentLog || first == recordName || first == record.Name {
			name = "agent-" + p
			if rest == "" {
				warn("outputs: %s is a name of Seer's own; the agent's is collected as %s", p, name)
			}
		}
		switch {
		case d.IsDir():
			return dst.MkdirAll(name, 0o755)
		case !d.Type().IsRegular():
			warn("outputs: %s is not a plain file and was not collected", p)
			return nil
		}
		files++
		return copyFile(src, dst, p, name)
	})
	if err != nil {
		return files, fmt.Errorf("collect the outputs from %s (they are still there): %w", src.Name(), err)
	}
	// What stays would look like results of the next run.
	return files, space.RemoveAll(outputsName)
}

func copyFile(src, dst *os.Root, from, name string) error {
	in, err := src.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	tmp := name + ".seer-tmp"
	out, err := dst.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = dst.Rename(tmp, name)
	}
	if err != nil {
		_ = dst.Remove(tmp)
	}
	return err
}
