package host

import (
	"runtime"
	"time"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/wasmfile"
)

// Limits bound what one plugin may use. A manifest may lower CallTime, set
// MemoryMB to anything up to MaxMemoryMB, and have up to StepTime for a step.
type Limits struct {
	MemoryMB    int           // of one instance whose manifest does not say; default 256
	MaxMemoryMB int           // of one instance whose manifest asks for it; default 1024, at least MemoryMB
	CallTime    time.Duration // of one call, without waiting for a turn; default 30 s
	StepTime    time.Duration // the most that a manifest may ask for a step of a creation or snapshot; default 15 min
	CompileTime time.Duration // of compiling a module that is not in the cache; default 10 min
	InputMB     int           // default 16
	OutputMB    int           // default 16
	LogKB       int           // of one call; the rest is dropped; default 64
	Instances   int           // of one plugin at once; more calls wait; default 2 for each CPU, and fewer where one may have much memory
	ResponseMB  int           // the body of one HTTP answer; default 64
}

func (l Limits) withDefaults() Limits {
	set := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&l.MemoryMB, 256)
	set(&l.MaxMemoryMB, 1024)
	l.MaxMemoryMB = max(l.MaxMemoryMB, l.MemoryMB)
	set(&l.InputMB, 16)
	set(&l.OutputMB, 16)
	set(&l.LogKB, 64)
	set(&l.Instances, 2*runtime.GOMAXPROCS(0))
	if l.CallTime <= 0 {
		l.CallTime = 30 * time.Second
	}
	if l.StepTime <= 0 {
		l.StepTime = 15 * time.Minute
	}
	l.StepTime = max(l.StepTime, l.CallTime)
	if l.CompileTime <= 0 {
		l.CompileTime = 10 * time.Minute
	}
	return l
}

// asked applies a manifest's limits, which were checked.
func (l Limits) asked(p sdk.PluginLimits) Limits {
	if p.MemoryMB > 0 {
		l.MemoryMB = p.MemoryMB
	}
	if p.CallSeconds > 0 {
		l.CallTime = time.Duration(p.CallSeconds * float64(time.Second))
	}
	l.StepTime = max(l.CallTime, time.Duration(p.StepSeconds*float64(time.Second)))
	l.Instances = min(l.Instances, max(1, allMemoryMB/l.MemoryMB))
	return l
}

// of is the time of one call of an export.
func (l Limits) of(export string) time.Duration {
	switch export {
	case sdk.ExportProviderCreate, sdk.ExportProviderSnapshot, sdk.ExportProviderCheck, sdk.ExportProviderClean:
		return l.StepTime
	}
	return l.CallTime
}

const (
	pagesPerMB = 16      // a Wasm page is 64 KiB
	maxTable   = 1 << 20 // entries of a table, of 8 bytes each, beside the memory

	allMemoryMB = 4 << 10 // of all instances of one plugin
	maxNodes    = 1 << 17 // objects and lists in one answer, which take more memory than text
)

// A function beyond these makes the compiler take seconds, and hundreds of MB, for each
// few KB. The greatest known in a real plugin are 5181 branches, 128 loops, 2452 locals
// and 100 KB.
const maxWork = 8 << 20

func mostComplex() wasmfile.Complexity {
	return wasmfile.Complexity{Branches: 16 << 10, Loops: 512, Locals: 5000, Bytes: 2 << 20}
}
