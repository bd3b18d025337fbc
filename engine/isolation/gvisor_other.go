//go:build !linux

package isolation

import (
	"context"
	"os/exec"

	"github.com/seer-engine/seer/sdk"
)

const gvisorOnlyLinux = "gVisor exists only on Linux; use isolation none, or a provider elsewhere"

func detectGVisor(context.Context, []string) sdk.Isolation {
	return sdk.Isolation{Name: GVisor, Reason: gvisorOnlyLinux}
}

func gvisorCommand(Spec) (*exec.Cmd, error) {
	return nil, sdk.Errorf(sdk.Unsupported, gvisorOnlyLinux)
}
