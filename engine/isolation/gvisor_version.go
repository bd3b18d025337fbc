package isolation

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// GVisorVersion is what the installed runsc says of itself: processes that one version has
// saved, another one does not continue.
func GVisorVersion(ctx context.Context, places ...string) (string, error) {
	runsc, err := gvisorProgram(places)
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, runsc, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", runsc, err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(strings.TrimPrefix(line, "runsc version")), nil
}
