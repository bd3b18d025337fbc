package sshhost

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/sdk"
)

// newest and oldest are the minor versions of Python that are looked for by name.
const newest, oldest = 16, 8

// anyPython is the interpreter of machines: the one that every Seer would choose here, or, where
// that is too old, the newest in the PATH.
func anyPython(ctx context.Context, getenv func(string) string) (isolation.Interpreter, error) {
	usual, err := isolation.Python(ctx, getenv)
	if err == nil || getenv("SEER_PYTHON") != "" {
		return usual, err
	}
	for minor := newest; minor >= oldest; minor-- {
		if found, err := named(ctx, getenv, fmt.Sprintf("python3.%d", minor)); err == nil {
			return found, nil
		}
	}
	return usual, err
}

// python is an interpreter of a version, such as 3.12 or 3.12.4.
func python(ctx context.Context, getenv func(string) string, version string) (isolation.Interpreter, error) {
	usual, err := anyPython(ctx, getenv)
	if err == nil && fits(usual, version) {
		return usual, nil
	}
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	if found, err := named(ctx, getenv, "python"+major+"."+minor); err == nil && fits(found, version) {
		return found, nil
	}
	if err != nil {
		return usual, err
	}
	return usual, sdk.Errorf(sdk.Unsupported, "Python %s is wanted, and this host has %s (%s) and no python%s.%s in the PATH; install it there, or want another one",
		version, usual.Version, usual.Executable, major, minor)
}

func fits(found isolation.Interpreter, version string) bool {
	return found.Version == version || strings.HasPrefix(found.Version, version+".")
}

// named is the interpreter with a name in the PATH.
func named(ctx context.Context, getenv func(string) string, name string) (isolation.Interpreter, error) {
	if _, err := exec.LookPath(name); err != nil {
		return isolation.Interpreter{}, err
	}
	return isolation.Python(ctx, func(variable string) string {
		if variable == "SEER_PYTHON" {
			return name
		}
		return getenv(variable)
	})
}

func sdkError(err error) *sdk.Error {
	var e *sdk.Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}
