//go:build !linux

package isolation

import (
	"context"
	"io"
	"os/exec"

	"github.com/seer-engine/seer/sdk"
)

const gvisorOnlyLinux = "gVisor exists only on Linux; use isolation none, or a provider elsewhere"

func detectGVisor(context.Context, []string) sdk.Isolation {
	return sdk.Isolation{Name: GVisor, Reason: gvisorOnlyLinux}
}

func gvisorProgram([]string) (string, error) {
	return "", sdk.Errorf(sdk.Unsupported, gvisorOnlyLinux)
}

func gvisorCommand(Spec) (*exec.Cmd, error) {
	return nil, sdk.Errorf(sdk.Unsupported, gvisorOnlyLinux)
}

func saveRoot(context.Context, string, io.Writer) error {
	return sdk.Errorf(sdk.Unsupported, gvisorOnlyLinux)
}

func checkpoint(context.Context, string, string, bool) error {
	return sdk.Errorf(sdk.Unsupported, gvisorOnlyLinux)
}

// TryGPU finds no GPU: there are none outside Linux.
func TryGPU(context.Context, string, GPUSet, Interpreter, ...string) error {
	return sdk.Errorf(sdk.Unsupported, "GPUs can be used only on Linux")
}

func askToEnd(context.Context, string) error {
	return sdk.Errorf(sdk.Unsupported, gvisorOnlyLinux)
}
