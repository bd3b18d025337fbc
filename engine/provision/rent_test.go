package provision

import (
	"slices"
	"testing"

	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

// A machine whose root cannot be changed has a folder for all that is put into it, each once.
func TestFoldersOfAMachine(t *testing.T) {
	t.Parallel()
	of := func(uploads ...plan.Upload) ([]string, error) {
		s := &start{Request: Request{Models: []machine.Model{{Path: "/models/gpt2"}}, Plan: plan.Plan{Uploads: uploads}}}
		return s.folders(plan.Choice{Provider: "ssh", Own: true})
	}
	got, err := of(plan.Upload{Remote: "/data", Folder: true}, plan.Upload{Remote: "/data-2/a.txt"}, plan.Upload{Remote: "/data/sub/b.txt"},
		plan.Upload{Remote: "/workspace/c"}, plan.Upload{Remote: "/tmp/d", Folder: true}, plan.Upload{Remote: "/models/list.txt"}, plan.Upload{Remote: "/set/one/e.txt"})
	if want := []string{"/data", "/data-2", "/models", "/set/one"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	_, err = of(plan.Upload{Local: "notes.txt", Remote: "/notes.txt"})
	testkit.WantCode(t, err, sdk.Unsupported, "put it into a folder, such as /data/notes.txt")
}
