package slurm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// pendingLine begins a line of offers.sh with the number of jobs that wait for the same partitions.
const pendingLine = "pending"

func pendingJobs(lines [][]string) map[string]int {
	pending := map[string]int{}
	for _, l := range lines {
		if l[0] == pendingLine && len(l) == 3 {
			for name := range strings.SplitSeq(l[1], ",") { // a job may wait for several
				pending[name] += atoi(l[2])
			}
		}
	}
	return pending
}

func jobsWait(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 job waits"
	}
	return fmt.Sprintf("%d jobs wait", n)
}

const (
	mostTests    = 4                // estimates in a call: each is work for the cluster's controller
	cycle        = 30 * time.Second // of the scheduler: a shorter wait is none
	usualTimeout = time.Hour        // where a query says nothing else
)

// waits are the expected times in the queue; 0 = none, or not known. Slurm is asked only where a
// job might wait, by one command.
func (p *Provider) waits(ctx context.Context, o options, q sdk.OfferQuery, all []choice, pending map[string]int) []time.Duration {
	waits := make([]time.Duration, len(all))
	left := cmp.Or(time.Duration(q.TimeoutSeconds)*time.Second, usualTimeout)
	var tested []int
	var args []string
	var jobs strings.Builder
	for i, c := range all {
		if c.free > 0 && pending[c.partition] == 0 || len(tested) == mostTests {
			continue
		}
		var own map[string]string
		args, own = common(o.sbatch(sdk.MachineSpec{GPU: q.GPU, GPUCount: q.GPUCount, CPU: q.CPU, MemoryGB: q.MemoryGB}, c, left))
		fmt.Fprintln(&jobs, own["--partition"], own["--time"], own["--gres"])
		tested = append(tested, i)
	}
	if len(tested) == 0 {
		return waits
	}
	lines, err := p.run(ctx, o.Host, queueScript, []byte(jobs.String()), args...)
	if err != nil {
		return waits // what can be had is known, and how long it takes is not
	}
	for n, wait := range starts(lines) {
		if n < len(tested) {
			waits[tested[n]] = wait
		}
	}
	return waits
}

// common are the options of sbatch without those that differ between the choices.
func common(options []string) (rest []string, own map[string]string) {
	own = map[string]string{}
	for _, option := range options {
		name, value, _ := strings.Cut(option, "=")
		if slices.Contains([]string{"--partition", "--time", "--gres"}, name) {
			own[name] = value
		} else {
			rest = append(rest, option)
		}
	}
	return rest, own
}

// starts reads the lines of queue.sh: how long each job would wait.
func starts(lines [][]string) (waits []time.Duration) {
	var now time.Time
	for _, l := range lines {
		if len(l) != 2 {
			continue
		}
		at, err := time.Parse(layout, l[1])
		switch {
		case l[0] == "now" && err == nil:
			now = at
		case l[0] == "start":
			wait := time.Duration(0)
			if err == nil && !now.IsZero() && at.Sub(now) >= cycle {
				wait = at.Sub(now)
			}
			waits = append(waits, wait)
		}
	}
	return waits
}
