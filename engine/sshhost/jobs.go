package sshhost

import (
	"context"

	"github.com/seer-engine/seer/engine/isolation"
)

// NetworkDisk reports whether a folder is on a file system of the network, where sockets and locks
// do not work.
func NetworkDisk(dir string) (bool, error) { return networkDisk(dir) }

// Python finds the interpreter of machines of a job: python3 of the PATH, which modules of a
// cluster and lines of set-up change, or else that of machines of hosts.
func Python(ctx context.Context, getenv func(string) string) (isolation.Interpreter, error) {
	if getenv("SEER_PYTHON") == "" {
		if found, err := named(ctx, getenv, "python3"); err == nil {
			return found, nil
		}
	}
	return anyPython(ctx, getenv)
}

// PythonVersion finds an interpreter of a version, such as 3.12.
func PythonVersion(ctx context.Context, getenv func(string) string, version string) (isolation.Interpreter, error) {
	if found, err := Python(ctx, getenv); err == nil && fits(found, version) {
		return found, nil
	}
	return python(ctx, getenv, version)
}
