//go:build !linux

package isolation

import (
	"context"
	"os/exec"

	"github.com/seer-engine/seer/sdk"
)

const onlyLinux = "bubblewrap exists only on Linux; use isolation none, or a provider elsewhere"

func detectBubblewrap(context.Context) (sdk.Isolation, error) {
	return sdk.Isolation{Name: Bubblewrap, Reason: onlyLinux}, nil
}

func bubblewrapCommand(Spec) (*exec.Cmd, error) {
	return nil, sdk.Errorf(sdk.Unsupported, "%s", onlyLinux)
}
