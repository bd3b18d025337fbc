package checkpoint

import (
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/environment"
	"github.com/seer-engine/seer/engine/runtime/internal/gpumemory"
	"github.com/seer-engine/seer/engine/runtime/internal/lease"
	"github.com/seer-engine/seer/engine/runtime/internal/spawn"
)

// What comes to the GPU after the others were taken off, and before all stands still, is
// taken off in another try; what stays is named.
func TestProcessesThatComeToTheGPU(t *testing.T) {
	node, err := os.Open("/dev/full") // which stands for one of the driver
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	spawner := spawn.New()
	defer spawner.Close()
	for name, tc := range map[string]struct {
		there []bool // whether this process is on the GPU when it is looked for; then as the last
		looks int
		want  string
	}{
		"nothing":        {[]bool{false}, 2, ""},
		"one that ends":  {[]bool{false, true, true, false}, 4, ""},
		"one that stays": {[]bool{true}, 2 * suspendTries, "has /dev/full open, and nothing that the driver can take off the GPU"},
	} {
		t.Run(name, func(t *testing.T) {
			looks := 0
			gpus := gpumemory.New(gpumemory.Deps{Spawner: spawner, Devices: "/dev/full", Persist: func() {},
				Environ: func() []string { return []string{"PATH=" + os.Getenv("PATH"), "LD_LIBRARY_PATH=/nonexistent"} },
				Processes: func() ([]int, error) {
					looks++
					if tc.there[min(looks, len(tc.there))-1] {
						return []int{os.Getpid()}, nil
					}
					return nil, nil
				}})
			c := New(Deps{Env: &environment.Env{}, GPUs: gpus, Log: slog.New(slog.DiscardHandler), Reporter: lease.NewReporter(lease.New(time.Now(), time.Hour, time.Time{}), nil, nil)})
			p := &quiescence{standstill: newStandstill(c, "", "", "")}
			_, err := p.beginWithoutGPUs(t.Context())
			p.end()
			if looks != tc.looks || (err == nil) != (tc.want == "") || err != nil && (protocol.CodeOf(err) != protocol.Conflict || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%d looks, %v", looks, err)
			}
		})
	}
}
