package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// tokenFile is the content of a file with a token: a [Connection] or a [Session].
type tokenFile interface{ validate() error }

// readTokenFile reads such a file. The errors call it kind; again says how to get another
// one.
func readTokenFile[T tokenFile](kind, again, path string) (T, error) {
	var content, none T
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return none, fmt.Errorf("there is no %s file %s: %s: %w", kind, path, again, err)
	}
	if err != nil {
		return none, fmt.Errorf("read the %s file: %w", kind, err)
	}
	if err := json.Unmarshal(data, &content); err != nil {
		return none, fmt.Errorf("the %s file %s is not valid JSON: %w", kind, path, err)
	}
	if err := content.validate(); err != nil {
		return none, fmt.Errorf("the %s file %s: %w", kind, path, err)
	}
	return content, nil
}

// writeTokenFile stores content at path, readable by its owner alone. A reader sees the old
// file or the new one, never a part.
func writeTokenFile(kind, path string, content tokenFile) error {
	if err := content.validate(); err != nil {
		return fmt.Errorf("write the %s file %s: %w", kind, path, err)
	}
	data, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return err
	}
	return writeFileAtomic(path, append(data, '\n'))
}

// writeFileAtomic relies on os.CreateTemp making files of mode 0600.
func writeFileAtomic(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
