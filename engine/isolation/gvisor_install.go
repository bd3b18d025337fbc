package isolation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/seer-engine/seer/engine/isolation/runscbuild"
	"github.com/seer-engine/seer/sdk"
)

// runscRelease has the ready-made program, for who has no Go.
const runscRelease = "https://storage.googleapis.com/gvisor/releases/release/latest"

func installGVisor(ctx context.Context, dir string, log io.Writer) error {
	if runtime.GOOS != "linux" {
		return sdk.Errorf(sdk.Unsupported, "gVisor exists only on Linux")
	}
	final := filepath.Join(dir, "runsc")
	goTool, err := exec.LookPath("go")
	if err != nil {
		machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
		return sdk.Errorf(sdk.NotFound, "there is no go in the PATH to build gVisor's runsc with; install Go (https://go.dev/dl/), or put the ready-made "+
			"program there yourself: curl -fLo %s %s/%s/runsc && chmod +x %s", final, runscRelease, machine, final)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("install gVisor: %w", err)
	}
	// Built beside its place and renamed, so that there is never half a program.
	building, err := os.MkdirTemp(dir, ".building-")
	if err != nil {
		return fmt.Errorf("install gVisor: %w", err)
	}
	defer os.RemoveAll(building)
	_, _ = fmt.Fprintf(log, "building gVisor's runsc %s from its Go module (some minutes, once)\n", RunscVersion)
	if err := runscbuild.Build(ctx, goTool, building, RunscVersion, RunscBuild, log); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return sdk.Errorf(sdk.Unavailable, "go could not build gVisor's runsc (what it said is above); look whether this computer reaches the Go module proxy")
		}
		return fmt.Errorf("install gVisor: %w", err)
	}
	if err := os.Rename(filepath.Join(building, "runsc"), final); err != nil {
		return fmt.Errorf("install gVisor: %w", err)
	}
	_, _ = fmt.Fprintf(log, "installed %s\n", final)
	return nil
}
