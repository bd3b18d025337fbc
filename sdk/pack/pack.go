// Package pack makes the two files that are a plugin, <id>.wasm and <id>.yaml,
// with the manifest, and what the module needs of a host, embedded in the first. Of
// the manifest it reads only the id: the strict check is the host's, and that of
// `seer plugin build`.
package pack

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// ManifestFile is the manifest's name in a plugin's source folder.
const ManifestFile = "plugin.yaml"

// Go builds the Go plugin in folder src, which has a main package and a
// plugin.yaml, and returns the path of the .wasm in folder out.
func Go(ctx context.Context, src, out string) (string, error) {
	tmp, err := os.MkdirTemp("", "seer-pack-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	wasm := filepath.Join(tmp, "plugin.wasm")
	if text, err := Command(ctx, src, wasm).CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", src, err, bytes.TrimSpace(text))
	}
	return Files(wasm, filepath.Join(src, ManifestFile), out)
}

// Command is the compiler that makes the file wasm of the Go package in folder src. The
// same sources and toolchain give the same bytes, wherever src is.
func Command(ctx context.Context, src, wasm string) *exec.Cmd {
	// Without its tracing pages, gRPC links a third less; other plugins do not know the tag.
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", "grpcnotrace",
		"-ldflags", "-s -w", "-buildmode=c-shared", "-o", wasm, ".")
	cmd.Dir = src
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	return cmd
}

// Files packs a .wasm made by any tool with its manifest.
func Files(wasm, manifest, out string) (string, error) {
	code, err := os.ReadFile(wasm)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(manifest)
	if err != nil {
		return "", err
	}
	id, err := idOf(manifest, text)
	if err != nil {
		return "", err
	}
	if code, err = Embed(code, text); err != nil {
		return "", fmt.Errorf("%s: %w", wasm, err)
	}
	return Write(out, id, code, text)
}

// Write puts the two files of a plugin into folder out, each in one step, for a running
// Seer may read them. It returns the path of the .wasm.
func Write(out, id string, code, manifest []byte) (string, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(out, id+".wasm")
	if err := replace(path, code); err != nil {
		return "", err
	}
	return path, replace(filepath.Join(out, id+".yaml"), manifest)
}

var idLine = regexp.MustCompile(`(?m)^id:\s*["']?([a-z][a-z0-9-]*)["']?\s*(#.*)?$`)

// idOf needs one line of the manifest; the host checks all of it.
func idOf(file string, text []byte) (string, error) {
	m := idLine.FindSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("%s: no line `id: <plugin-id>` (small letters, digits, hyphens)", file)
	}
	return string(m[1]), nil
}

// replace writes a file in one step.
func replace(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".pack-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
