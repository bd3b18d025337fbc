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

// readBuilt gives a built-in plugin of a finished build; nil where src is no such plugin
// or there is no such build.
func readBuilt(src string) (map[string][]byte, error) {
	bin := os.Getenv(finishedVariable)
	top, err := root()
	if err != nil {
		return nil, err
	}
	if bin == "" || filepath.Dir(src) != filepath.Join(top, "plugins") {
		return nil, nil
	}
	id := filepath.Base(src)
	return readFiles(filepath.Join(bin, "plugins"), id+".wasm", id+".yaml")
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
		return true, os.CopyFS(filepath.Join(cache, folder), os.DirFS(from))
	}
	return false, nil
}
