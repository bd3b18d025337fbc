// Package runscbuild builds gVisor's program out of its Go module.
package runscbuild

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// source is a module of its own, which go:embed would not take: what it needs is none of
// this module's business.
//
//go:embed source
var source embed.FS

const (
	ignored = "//go:build ignore\n"
	// The version of Go is that of gVisor's module.
	module = "module runsc\n\ngo 1.26.3\n\nrequire gvisor.dev/gvisor %s\n"
)

// Build makes dir/runsc with a go command; dir is a folder with nothing in it. version is
// that of the module gvisor.dev/gvisor, and name what the program calls its own.
func Build(ctx context.Context, goTool, dir, version, name string, log io.Writer) error {
	if err := unpack(dir, version); err != nil {
		return err
	}
	program := filepath.Join(dir, "runsc")
	compiler := filepath.Join(dir, "precompile", "precompile")
	if err := run(ctx, dir, log, log, goTool, "build", "-mod=mod", "-trimpath", "-buildvcs=false", "-o", compiler, "./precompile"); err != nil {
		return err
	}
	var programs bytes.Buffer
	if err := run(ctx, dir, &programs, log, compiler); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "programs.go"), programs.Bytes(), 0o600); err != nil {
		return err
	}
	return run(ctx, dir, log, log, goTool, "build", "-mod=mod", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X gvisor.dev/gvisor/runsc/version.version="+name, "-o", program, ".")
}

func unpack(dir, version string) error {
	err := fs.WalkDir(source, "source", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel("source", path)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, rel)
		if entry.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		data, err := source.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, bytes.TrimPrefix(data, []byte(ignored)), 0o600)
	})
	if err != nil {
		return err
	}
	// Where there is assembler, functions without a body may be of other packages.
	if err := os.WriteFile(filepath.Join(dir, "precompile", "linked.s"), nil, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "go.mod"), fmt.Appendf(nil, module, version), 0o600)
}

func run(ctx context.Context, dir string, out, log io.Writer, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, log
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath", "GO111MODULE=on", "GOOS=", "GOARCH=", "GOWORK=off")
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	return nil
}
