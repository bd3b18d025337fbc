package inventory_test

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/gpulease"
	"github.com/seer-engine/seer/engine/inventory"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/models"
	"github.com/seer-engine/seer/sdk"
)

const gib = 1 << 30

// sharedGPUs is this computer with two GPUs. The first has a sandbox of the user and one of alice.
type sharedGPUs struct {
	sdk.Provider
	local.GPUs
}

func (sharedGPUs) GPUUses(context.Context, sdk.MachineSpec) ([]gpulease.Use, []int, error) {
	claim := func(name, user string, uid int) gpulease.Claimed {
		return gpulease.Claimed{Owner: gpulease.Owner{User: user, UID: uid, Sandbox: name}, Bytes: 30 * gib}
	}
	first := []gpulease.Claimed{claim("lab", "me", os.Getuid()), claim("lab", "alice", os.Getuid()+1)}
	second := []gpulease.Claimed{claim("lab", "bob", os.Getuid()+2)}
	return []gpulease.Use{
		{GPU: gpulease.GPU{Name: "H100-SXM", Memory: 80 * gib}, Claims: first},
		{GPU: gpulease.GPU{Index: 1, Name: "H100-SXM", Memory: 80 * gib}, Claims: second},
	}, nil, nil
}

func (sharedGPUs) GPUMemory(string) (int64, int64, bool) { return 0, 0, false }

// thisComputer has that provider.
type thisComputer struct{ foreign }

func (thisComputer) Provider(context.Context, string) (sdk.Provider, error) { return sharedGPUs{}, nil }

// Show says who uses the GPUs of a sandbox, and nothing of others.
func TestGPUUsers(t *testing.T) {
	t.Parallel()
	ledger, err := machine.OpenLedger(t.TempDir(), machine.SystemClock{})
	if err != nil {
		t.Fatal(err)
	}
	sandboxes := inventory.Inventory{Ledger: ledger, Plugins: thisComputer{}, Now: time.Now, Manifests: models.Manifests{}}
	r := machine.NewRecord()
	r.Name, r.Owner, r.Provider, r.Handle, r.GPU, r.State = "lab", ledger.Owner(), local.Name, "h", "H100-SXM", sdk.Pending
	r.Lease = machine.NewLease(machine.Attached, time.Hour, time.Now())
	if err := ledger.Add(t.Context(), &r); err != nil {
		t.Fatal(err)
	}
	info, err := sandboxes.Show(t.Context(), "lab")
	want := []string{"GPU 0 (H100-SXM), 21.5 GB of 85.9 GB free, used by: sandbox lab of me has 32.2 GB, sandbox lab of alice has 32.2 GB"}
	if err != nil || !slices.Equal(info.GPUUsers, want) {
		t.Errorf("%q, %v", info.GPUUsers, err)
	}
}
