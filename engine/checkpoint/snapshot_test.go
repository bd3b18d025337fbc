package checkpoint

import (
	"testing"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/experiment"
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
