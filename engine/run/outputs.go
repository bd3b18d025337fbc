package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/seer-engine/seer/engine/collect"
	"github.com/seer-engine/seer/engine/record"
	"github.com/seer-engine/seer/engine/runs"
)

// outputsName is the folder of the workspace that is collected after a run.
const outputsName = "outputs"

// gatherOutputs moves what the agent left in the outputs folder of its workspace to the
// folder to, and reports how many files there were. See [collect.Copier].
func gatherOutputs(ctx context.Context, space *os.Root, to *results, warn func(string, ...any)) (int, error) {
	info, err := space.Lstat(outputsName)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if !info.IsDir() {
		warn("outputs: the agent has put something else in the place of the folder; nothing was collected")
		return 0, nil
	}
	c := collect.Copier{Warn: warn, Rename: func(name string) string {
		if to.files != to.root || !seersOutput(name) {
			return name
		}
		warn("outputs: %s is a name of Seer's own; the agent's is collected as agent-%[1]s", name)
		return "agent-" + name
	}}
	files, err := c.Copy(ctx, space, outputsName, to.files)
	if err == nil && files > 0 { // a power cut must not take the copies when the originals are gone
		err = to.sync()
	}
	if err != nil {
		return files, fmt.Errorf("collect the outputs from %s/%s (they are still there): %w", space.Name(), outputsName, err)
	}
	// What stays would look like results of the next run.
	return files, space.RemoveAll(outputsName)
}

// seersOutput reports whether Seer writes a file or folder of that name into the outputs.
func seersOutput(name string) bool {
	return strings.EqualFold(name, agentLog) || strings.EqualFold(name, recordName) || strings.EqualFold(name, runs.ModelsName) || strings.EqualFold(name, record.Name)
}
