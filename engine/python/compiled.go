package python

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Digest names the worker by its files: a hex SHA-256.
func Digest() string {
	sum := sha256.New()
	_ = fs.WalkDir(Files, ".", func(name string, d fs.DirEntry, err error) error { // embedded: nothing fails
		if err == nil && !d.IsDir() {
			data, _ := Files.ReadFile(name)
			fmt.Fprintf(sum, "%s %d\n%s", name, len(data), data)
		}
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil))
}

// CompiledName is the file in a machine's cache in which a runtime looks for what
// [Compile] has made.
func CompiledName() string { return "seer-worker-" + Digest() + ".zip" }

const compile = `import compileall, py_compile, sys
mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
sys.exit(not compileall.compile_dir(sys.argv[1], quiet=2, invalidation_mode=mode))`

// Compile has the worker compiled by an interpreter, as it would do itself in every new
// sandbox, and returns a ZIP file with the results. It takes some tenths of a second.
func Compile(ctx context.Context, interpreter string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "seer-worker-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if _, err := Write(dir); err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, interpreter, "-I", "-S", "-c", compile, filepath.Join(dir, "seer_worker")).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile the worker with %s: %w: %.200s", interpreter, err, out)
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".pyc") {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		f, err := w.CreateHeader(&zip.FileHeader{Name: filepath.ToSlash(rel), Method: zip.Store}) // read far more often than made
		if err == nil {
			_, err = f.Write(data)
		}
		return err
	})
	if err == nil {
		err = w.Close()
	}
	return out.Bytes(), err
}
