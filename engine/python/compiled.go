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
func Digest() string { return digest(Files) }

func digest(files fs.FS) string {
	sum := sha256.New()
	_ = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error { // embedded: nothing fails
		if err == nil && !d.IsDir() {
			data, _ := fs.ReadFile(files, name)
			fmt.Fprintf(sum, "%s %d\n%s", name, len(data), data)
		}
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil))
}

// CompiledName is the file in a machine's cache in which a runtime looks for what
// [Compile] has made.
func CompiledName() string { return "seer-worker-" + Digest() + ".zip" }

// CompiledNotebookName changes with [Notebook].
func CompiledNotebookName() string { return "seer-notebook-" + digest(Notebook) + ".zip" }

const compile = `import compileall, py_compile, sys
mode = py_compile.PycInvalidationMode[sys.argv[2]]
sys.exit(not compileall.compile_dir(sys.argv[1], ddir=sys.argv[3] or None, quiet=2, invalidation_mode=mode))`

// workerFolder stands in the tracebacks of the worker, whose files are in no folder.
const workerFolder = "/seer/worker/"

// Compile has the worker compiled by an interpreter, as it would do itself in every new
// sandbox, and returns a ZIP file with the results. It takes some tenths of a second.
func Compile(ctx context.Context, interpreter string) ([]byte, error) {
	return compiled(ctx, interpreter, Files, "seer_worker", "UNCHECKED_HASH", workerFolder+"seer_worker")
}

// CompileNotebook is [Compile] of [Notebook]. Its files belong beside the sources. An
// interpreter of another version takes no notice of them, nor any that finds other
// sources there, as a later start puts them into what was saved by an earlier one.
func CompileNotebook(ctx context.Context, interpreter string) ([]byte, error) {
	return compiled(ctx, interpreter, Notebook, "seer_notebook", "CHECKED_HASH", "")
}

func compiled(ctx context.Context, interpreter string, files fs.FS, pkg, mode, shown string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "seer-compiled-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, files); err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, interpreter, "-I", "-S", "-c", compile, filepath.Join(dir, pkg), mode, shown).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile %s with %s: %w: %.200s", pkg, interpreter, err, out)
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
