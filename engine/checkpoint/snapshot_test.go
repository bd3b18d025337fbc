package checkpoint

import (
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/snapshot"
	"github.com/seer-engine/seer/sdk"
)

// What saved processes do not fit is told with its line and what would.
func TestWhatProcessesDoNotFitIsToldWithItsPlace(t *testing.T) {
	t.Parallel()
	exp, err := experiment.Parse([]byte("sandbox:\n  timeout: 1h\n  network: open\n"), "e.yaml", experiment.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	err = (Restoration{Experiment: exp}).mismatch("sandbox.network", "the processes of m have the network none, and the experiment wants open", "none")
	const want = "e.yaml:3: sandbox.network: the processes of m have the network none, and the experiment wants open; set sandbox.network: none"
	if errdefs.KindOf(err) != errdefs.KindConfig || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// An experiment that names no GPU takes that of the processes, and one that names another is refused.
func TestProcessesKeepTheirGPU(t *testing.T) {
	t.Parallel()
	r := restorer{spec: sdk.MachineSpec{Network: "none"}, from: saved{Record: machine.Record{GPU: "H100-SXM"}}}
	for gpu, want := range map[string]string{
		"null": "", "H100": "", "[A100, H100!]": "",
		"L4": "sandbox.gpu: the processes of mem have the GPU H100-SXM, and the experiment wants L4; set sandbox.gpu: H100-SXM",
	} {
		exp, err := experiment.Parse([]byte("sandbox:\n  network: none\n  gpu: "+gpu+"\n"), "e.yaml", experiment.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		err = Restoration{Experiment: exp, Snapshot: snapshot.Snapshot{Meta: snapshot.Meta{Name: "mem"}}}.checkFits(r)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", gpu, err)
		}
	}
}
