package hosttest

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
)

// finishedVariable names the bin folder of a finished build, as `make test` sets it.
const finishedVariable = "SEER_TEST_BIN"

// readBuilt gives a plugin of a finished build, a built-in one or one that is there for
// tests; nil where src is no such plugin or there is no such build.
func readBuilt(src string) (map[string][]byte, error) {
	bin := os.Getenv(finishedVariable)
	top, err := root()
	if err != nil || bin == "" {
		return nil, err
	}
	name := filepath.Base(src)
	switch parent := filepath.Dir(src); parent {
	case filepath.Join(top, "plugins"):
		return readFiles(filepath.Join(bin, "plugins"), name+".wasm", name+".yaml")
	case filepath.Join(top, "engine", "plugin", "host", "testdata", "guests"), filepath.Join(top, "internal", "acceptance", "testdata", "guests"):
		dir := filepath.Join(bin, "cache", "guests", name) // by `make compiled`
		if _, err := os.Stat(dir); err == nil {
			return readFolder(dir)
		}
	}
	return nil, nil
}

// copyCompiled copies a plugin's compiled code from a finished build. It reports whether
// there was some.
func (r *result) copyCompiled(cache string) (bool, error) {
	bin := os.Getenv(finishedVariable)
	if r.err != nil || bin == "" {
		return false, r.err
	}
	for name, code := range r.files {
		if !strings.HasSuffix(name, ".wasm") {
			continue
		}
		sum := sha256.Sum256(code)
		folder := filepath.Join("wasm", hex.EncodeToString(sum[:])) // as package host names it
		from := filepath.Join(bin, "cache", "wasm", folder)
		if _, err := os.Stat(filepath.Join(from, "seal")); err != nil {
			return false, nil
		}
		err := os.CopyFS(filepath.Join(cache, folder), os.DirFS(from))
		if err == nil && name == naivePlugin {
			err = os.CopyFS(filepath.Join(cache, naiveFolder), os.DirFS(filepath.Join(bin, "cache", "wasm", naiveFolder)))
		}
		return true, err
	}
	return false, nil
}
