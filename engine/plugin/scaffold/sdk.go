package scaffold

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// sdkVariable names the folder of the carried SDK.
const sdkVariable = "SEER_SDK_DIR"

func findSDK() (string, error) {
	if dir := os.Getenv(sdkVariable); dir != "" {
		return dir, nil
	}
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(exe); err == nil {
		exe = real
	}
	return filepath.Join(filepath.Dir(exe), "sdk"), nil
}

// sdk is the folder of the SDK for the language.
func (o Options) sdk() (string, error) {
	dir := o.SDK
	if dir == "" {
		var err error
		if dir, err = findSDK(); err != nil {
			return "", err
		}
	}
	dir = filepath.Join(dir, string(o.Lang))
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return "", fmt.Errorf("the SDK for %s is missing: there is no folder %s; build it with make sdk, or say with %s where it is", o.Lang, dir, sdkVariable)
	}
	return dir, err
}

// copySDK copies regular files and folders.
func copySDK(ctx context.Context, from, to string) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		target := filepath.Join(to, filepath.FromSlash(name))
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "node_modules":
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		data, err := fs.ReadFile(root.FS(), name)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o644)
	})
}
