package plugintest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seer-engine/seer/engine/plugin/host"
)

const (
	manyCalls  = 200
	fewCalls   = 20
	slowStart  = 10 * time.Second
	slowCall   = time.Second
	growthMB   = 8
	fullShare  = 0.9 // of the limit of memory
	defaultMB  = 256
	bytesPerMB = 1 << 20
)

// resources measures the plugin in a host of its own, without faults.
func (r *run) resources(ctx context.Context) {
	if ctx.Err() != nil {
		r.skip("resources", "given up")
		return
	}
	start := time.Now()
	h, call, first, err := r.first(ctx)
	if err == nil && first > slowStart { // the computer may have stood still
		_ = h.Close(context.WithoutCancel(ctx)) // what it was asked is answered
		h, call, first, err = r.first(ctx)
	}
	if err != nil {
		r.add("resources/start", start, err.Error(), nil)
		return
	}
	defer h.Close(context.WithoutCancel(ctx))
	r.add("resources/start", start, tooSlow("an instance and its first call", first, slowStart), fmt.Errorf("first call %v", first.Round(100*time.Microsecond)))

	start = time.Now()
	times, early, err := r.repeat(ctx, call, h.Memory)
	late := h.Memory()
	if err != nil {
		r.add("resources/calls", start, err.Error(), nil)
		return
	}
	slices.Sort(times)
	median := times[len(times)/2]
	r.add("resources/calls", start, tooSlow("a call that asks nobody", median, slowCall), fmt.Errorf("median %v, slowest %v", median.Round(10*time.Microsecond), times[len(times)-1].Round(10*time.Microsecond)))
	r.memory(early, late, len(times), start)
	wrong := ""
	if r.said.calls > 0 {
		wrong = fmt.Sprintf("the log of %d calls was longer than a call's may be and was cut off; say less", r.said.calls)
	}
	r.add("resources/log", start, wrong, fmt.Errorf("%s in all", amount(r.said.bytes)))
}

// first starts a host and measures the plugin's first call in it.
func (r *run) first(ctx context.Context) (h *host.Host, call func(context.Context) error, took time.Duration, err error) {
	if h, err = r.host(r.lookup); err != nil {
		return nil, nil, 0, err
	}
	if call, err = r.once(ctx, h); err == nil {
		err = h.Compile(ctx, r.plugin)
	}
	compiled := time.Now()
	if err == nil {
		err = call(ctx)
	}
	took = time.Since(compiled)
	if err != nil {
		_ = h.Close(context.WithoutCancel(ctx)) // the other error is what happened
		return nil, nil, 0, fmt.Errorf("the first call failed: %w", err)
	}
	return h, call, took, nil
}

func (r *run) memory(early, late int64, calls int, start time.Time) {
	limit := r.plugin.Manifest.Limits.MemoryMB
	if limit == 0 {
		limit = defaultMB
	}
	wrong := ""
	switch grown := late - early; {
	case grown > growthMB*bytesPerMB && calls > fewCalls:
		wrong = fmt.Sprintf("memory grew by %s from call %d to call %d: something is kept from one call to the next", amount(grown), fewCalls, calls)
	case float64(late) > fullShare*float64(limit*bytesPerMB):
		wrong = fmt.Sprintf("calls without work took %s of %d MiB; raise limits.memory_mb or take less", amount(late), limit)
	}
	note := fmt.Errorf("%s after %d calls", amount(early), min(fewCalls, calls))
	if calls > fewCalls {
		note = fmt.Errorf("%w, %s after %d", note, amount(late), calls)
	}
	r.add("resources/memory", start, wrong, note)
}

func tooSlow(what string, took, limit time.Duration) string {
	if took <= limit {
		return ""
	}
	return fmt.Sprintf("%s took %v; more than %v is felt by every user", what, took.Round(time.Millisecond), limit)
}

// repeat makes calls one after the other, so that one instance answers all. Early is the
// memory after the first few.
func (r *run) repeat(ctx context.Context, call func(context.Context) error, memory func() int64) (times []time.Duration, early int64, err error) {
	n := manyCalls
	if r.o.Quick {
		n = fewCalls
	}
	for i := range n {
		start := time.Now()
		if err := call(ctx); err != nil {
			return times, early, fmt.Errorf("call %d failed, where those before it did not: %w", i+1, err)
		}
		times = append(times, time.Since(start))
		if i+1 == fewCalls {
			early = memory()
		}
	}
	return times, early, nil
}
