// Package testkit holds what the tests of several packages need: files, connections and
// buffers. Its functions fail the test that calls them and clean up after it.
package testkit

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// WriteFile writes a file with its folders and returns its path. An existing file keeps
// its mode.
func WriteFile(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// WriteProgram writes a file that the test can execute, with its folders, and returns its path. No
// process starts meanwhile: it would inherit the open file, and the kernel executes no file that
// is open for writing (ETXTBSY).
func WriteProgram(t testing.TB, path, text string) string {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	WriteFile(t, path, text)
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// WriteFiles writes files below a folder, by their paths in it, and returns the folder.
func WriteFiles[Text string | []byte](t testing.TB, dir string, files map[string]Text) string {
	t.Helper()
	for name, text := range files {
		WriteFile(t, filepath.Join(dir, name), string(text))
	}
	return dir
}

// ReadFile returns the text of a file.
func ReadFile(t testing.TB, path string) string {
	t.Helper()
	return string(Must(os.ReadFile(path))(t))
}

// Files lists the files below a folder by their paths in it, sorted.
func Files(t testing.TB, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path)
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// ShortDir makes a folder whose path is short enough for sockets, which t.TempDir's may not
// be. It is removed after the test.
func ShortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Golden compares a text with a file of the test's folder. With update, it writes the file
// first.
func Golden(t testing.TB, update bool, path, got string) {
	t.Helper()
	if update {
		WriteFile(t, path, got)
	}
	if got != ReadFile(t, path) {
		t.Errorf("%s differs (go test -update writes it anew):\n%s", path, got)
	}
}

// GoldenReference compares a text with the generated end of a document, as [Golden] does.
func GoldenReference(t testing.TB, update bool, path, got string) {
	t.Helper()
	const marker = "<!-- reference -->\n"
	prose, _, ok := strings.Cut(ReadFile(t, path), marker)
	if !ok {
		t.Fatalf("%s has lost the line %s", path, marker)
	}
	Golden(t, update, path, prose+marker+got)
}

// OpenRoot makes a folder and opens it until the test ends.
func OpenRoot(t testing.TB, dir string) *os.Root {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}
