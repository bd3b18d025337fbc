package notebook

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode"
)

// fileName is the notebook's own name, made safe.
func fileName(s Session) string {
	name := path.Base(path.Clean("/" + strings.ReplaceAll(s.Path, "\\", "/")))
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || strings.ContainsRune(`<>:"|?*`, r) {
			return '_'
		}
		return r
	}, name)
	name = strings.TrimLeft(name, ".")
	if stem := strings.TrimSuffix(name, ".ipynb"); stem == "" || stem == "/" || stem == name {
		name = strings.Trim(name, "/") + ".ipynb"
	}
	const most = 200
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most-len(".ipynb")], "") + ".ipynb"
	}
	if name == ".ipynb" {
		return "notebook.ipynb"
	}
	return name
}

// maxNames is how many names are tried.
const maxNames = 1000

// claim finds the name of a copy: the one that it has already, or the first that nobody has. had
// is the name under which it was written before, if any.
func claim(root *os.Root, name, had, identity string) (string, error) {
	if err := root.Mkdir(owners, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	stem := strings.TrimSuffix(name, ".ipynb")
	for n := 1; n <= maxNames; n++ {
		if n > 1 {
			name = fmt.Sprintf("%s_%d.ipynb", stem, n)
		}
		if _, err := root.Lstat(name); err == nil && name != had && !owned(root, name) {
			continue // somebody's own file
		}
		err := create(root, path.Join(owners, name), []byte(identity))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		if err == nil || owner(root, name) == identity {
			return name, nil
		}
	}
	return "", fmt.Errorf("%s has a thousand notebooks of the name %s", root.Name(), name)
}

// owned reports whether a name is taken for a copy.
func owned(root *os.Root, name string) bool {
	_, err := root.Lstat(path.Join(owners, name))
	return err == nil
}

// owner is the identity of the session whose copy has the name; empty if it cannot be read.
func owner(root *os.Root, name string) string {
	data, _ := root.ReadFile(path.Join(owners, name)) // somebody has planted what is no file
	return string(data)
}

// create writes a file that must not exist, as a whole.
func create(root *os.Root, name string, data []byte) error {
	tmp, err := temporary(root, data)
	if err != nil {
		return err
	}
	err = root.Link(tmp, name)
	_ = root.Remove(tmp) // it is another name of the same file
	return err
}

// replace writes a file as a whole: a reader sees the old content or the new one. A link
// of that name is replaced and not followed.
func replace(root *os.Root, name string, data []byte) error {
	tmp, err := temporary(root, data)
	if err != nil {
		return err
	}
	if err := root.Rename(tmp, name); err != nil {
		_ = root.Remove(tmp) // the first error is the one to tell
		return err
	}
	return nil
}

// temporary writes a new file and returns its name.
func temporary(root *os.Root, data []byte) (string, error) {
	name := path.Join(owners, "."+NewKey()+".tmp")
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = root.Remove(name)
		return "", err
	}
	return name, nil
}

// flush waits until a file is on the disk itself; one that somebody has taken away is.
func flush(root *os.Root, name string) error {
	f, err := root.OpenFile(name, os.O_RDWR, 0) // not every system flushes what may only be read
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	err = f.Sync()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
