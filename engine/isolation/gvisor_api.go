package isolation

import (
	"context"
	"io"
)

// RunscVersion is the release of gVisor that Seer is tested with.
const RunscVersion = "v0.0.0-20260905035102-160fafc42237"

// RunscBuild is what the runsc that [InstallGVisor] builds of it calls itself.
const RunscBuild = RunscVersion + "-seer1"

// SaveRoot writes the changes that the running command has made to its writable
// tree as a tar file: what is new, and whiteouts (.wh. names) for what is gone. It
// is a layer for [Root.Layers]. It has what the layers have that the command was
// started with, so it replaces them and does not lie on them. The tree does not
// change meanwhile. What is in mounts is not part of it.
func SaveRoot(ctx context.Context, state string, w io.Writer) error {
	return saveRoot(ctx, state, w)
}

// Checkpoint saves the processes of the running command, with their memory, in the
// empty folder dir. They end, unless they are to be left running. It is refused
// with [sdk.Unavailable] while a process has a socket open that leads outside.
func Checkpoint(ctx context.Context, state, dir string, leaveRunning bool) error {
	return checkpoint(ctx, state, dir, leaveRunning)
}

// InstallGVisor builds runsc from its Go module into dir, where [Spec.Places] finds
// it, and tells the progress in log. Without a go command it says what to download
// and where to put it.
func InstallGVisor(ctx context.Context, dir string, log io.Writer) error {
	return installGVisor(ctx, dir, log)
}

// Ask asks all processes of the running command to end, by SIGTERM.
func Ask(ctx context.Context, state string) error {
	return askToEnd(ctx, state)
}
