package host

import (
	"runtime"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// Limits bound what one plugin may use. A manifest may lower MemoryMB and
// CallTime.
type Limits struct {
	MemoryMB  int           // of one instance; default 256
	CallTime  time.Duration // of one call, without waiting for a turn; default 30 s
	InputMB   int           // default 16
	OutputMB  int           // default 16
	LogKB     int           // of one call; the rest is dropped; default 64
	Instances int           // of one plugin at once; more calls wait; default 2 for each CPU
}

func (l Limits) withDefaults() Limits {
	set := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&l.MemoryMB, 256)
	set(&l.InputMB, 16)
	set(&l.OutputMB, 16)
	set(&l.LogKB, 64)
	set(&l.Instances, 2*runtime.GOMAXPROCS(0))
	if l.CallTime <= 0 {
		l.CallTime = 30 * time.Second
	}
	return l
}

// lowered applies a manifest's limits, which were checked not to raise anything.
func (l Limits) lowered(p sdk.PluginLimits) Limits {
	if p.MemoryMB > 0 {
		l.MemoryMB = p.MemoryMB
	}
	if p.CallSeconds > 0 {
		l.CallTime = time.Duration(p.CallSeconds * float64(time.Second))
	}
	return l
}

const pagesPerMB = 16 // a Wasm page is 64 KiB
