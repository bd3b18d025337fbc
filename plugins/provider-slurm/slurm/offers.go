package slurm

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/plugins/internal/bare"
	"github.com/seer-engine/seer/plugins/internal/nearest"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/gpu"
)

// node is a node in one of its partitions, as sinfo shows it.
type node struct {
	Partition string
	Default   bool // partition of the cluster
	Name      string
	Up        bool // takes jobs now
	CPUs      int
	FreeCPUs  int
	MemoryMB  int
	FreeMB    int
	GPUs      map[string]int // type → number; "" = without a type
	FreeGPUs  map[string]int
	Limit     time.Duration // of the partition; 0 = none
}

// columns are the widths of what sinfo prints.
var columns = []int{64, 64, 24, 32, 24, 24, 256, 256, 16, 24}

// parseNodes reads the lines of offers.sh that are not of jobs.
func parseNodes(lines [][]string) (nodes []node) {
	for _, parts := range lines {
		if parts[0] == pendingLine {
			continue
		}
		line := strings.Join(parts, "|")
		var f []string
		for _, width := range columns {
			width = min(width, len(line))
			f = append(f, strings.TrimSpace(line[:width]))
			line = line[width:]
		}
		if f[0] == "" {
			continue
		}
		n := node{Name: f[1], GPUs: gres(f[6])}
		n.Partition, n.Default = strings.CutSuffix(f[0], "*")
		state := strings.TrimRight(f[2], "*~#!%$@^-+")
		n.Up = f[8] == "up" && (state == "idle" || state == "mix") && state == f[2]
		cpus := strings.Split(f[3], "/") // allocated, idle, other, total
		if len(cpus) == 4 {
			n.FreeCPUs, n.CPUs = atoi(cpus[1]), atoi(cpus[3])
		}
		n.MemoryMB = atoi(f[4])
		n.FreeMB = n.MemoryMB - atoi(f[5])
		n.FreeGPUs = gres(f[7])
		for kind, all := range n.GPUs {
			n.FreeGPUs[kind] = all - n.FreeGPUs[kind]
		}
		n.Limit = duration(f[9])
		nodes = append(nodes, n)
	}
	return nodes
}

// gres reads GPUs of a list like gpu:a100:4(S:0-1),gpu:2,shard:8 or gpu:a100:1(IDX:0).
func gres(text string) map[string]int {
	all := map[string]int{}
	depth := 0
	for _, one := range strings.FieldsFunc(text, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return r == ',' && depth == 0
	}) {
		one, _, _ = strings.Cut(one, "(")
		words := strings.Split(one, ":")
		if words[0] != "gpu" || len(words) < 2 {
			continue
		}
		kind := ""
		if len(words) > 2 {
			kind = words[1]
		}
		all[kind] += atoi(words[len(words)-1])
	}
	return all
}

// duration reads a time as sinfo prints it: [[days-]hours:]minutes:seconds; 0 = infinite, or not
// known.
func duration(text string) (total time.Duration) {
	days, rest, ok := strings.Cut(text, "-")
	if !ok {
		days, rest = "0", text
	}
	words := strings.Split(rest, ":")
	slices.Reverse(words)
	for i, unit := range []time.Duration{time.Second, time.Minute, time.Hour} {
		if i < len(words) {
			total += time.Duration(atoi(words[i])) * unit
		}
	}
	return total + time.Duration(atoi(days))*24*time.Hour
}

func atoi(text string) int {
	n, _ := strconv.Atoi(strings.TrimSpace(text)) // what is no number counts nothing
	return n
}

// wish is what a machine needs of a node.
type wish struct {
	gpu      string // as the user wrote it; empty = none
	count    int
	cpu      int
	memoryMB int
}

func wishOf(gpuName string, count int, cpu, memoryGB float64) wish {
	w := wish{gpu: gpuName, cpu: max(1, int(cpu+0.999)), memoryMB: int(memoryGB * 1024)}
	if gpuName != "" {
		w.count = max(1, count)
	}
	return w
}

// choice is a kind of GPU in a partition, or a partition for machines without one.
type choice struct {
	partition, kind string
	nodes, free     int // that have what is wanted: at all, and now
	memoryMB        int // the most of one node
	limit           time.Duration
}

// choices are what the wish can be had as: the cluster's own partition first. GPUs without a type
// fit any name, as the cluster does not tell theirs.
func choices(nodes []node, w wish, partition string) (out []choice) {
	for _, n := range nodes {
		if partition != "" && n.Partition != partition {
			continue
		}
		kinds := []string{""}
		if w.gpu != "" {
			kinds = kinds[:0]
			for kind := range n.GPUs {
				if kind == "" || gpu.Match(w.gpu, gpu.Canonical(kind)) {
					kinds = append(kinds, kind)
				}
			}
			slices.Sort(kinds)
		}
		for _, kind := range kinds {
			if n.CPUs < w.cpu || n.MemoryMB < w.memoryMB || w.count > n.GPUs[kind] {
				continue
			}
			at := slices.IndexFunc(out, func(c choice) bool { return c.partition == n.Partition && c.kind == kind })
			if at < 0 {
				at = len(out)
				out = append(out, choice{partition: n.Partition, kind: kind, limit: n.Limit})
			}
			out[at].nodes++
			out[at].memoryMB = max(out[at].memoryMB, n.MemoryMB)
			if n.Up && n.FreeCPUs >= w.cpu && n.FreeMB >= w.memoryMB && n.FreeGPUs[kind] >= w.count {
				out[at].free++
			}
		}
	}
	first := slices.IndexFunc(nodes, func(n node) bool { return n.Default })
	slices.SortStableFunc(out, func(a, b choice) int {
		if first < 0 || (a.partition == nodes[first].Partition) == (b.partition == nodes[first].Partition) {
			return 0
		}
		if a.partition == nodes[first].Partition {
			return -1
		}
		return 1
	})
	return out
}

// Offers implements [sdk.Provider]: the partitions, and the kinds of GPUs in each.
func (p *Provider) Offers(ctx context.Context, q sdk.OfferQuery) ([]sdk.Offer, error) {
	o, err := p.options(q.Options)
	if err != nil {
		return nil, err
	}
	if len(q.Regions) > 0 && !slices.Contains(q.Regions, o.Host) {
		return nil, nil
	}
	nodes, pending, err := p.nodes(ctx, o, true)
	if err != nil {
		return nil, err
	}
	some := longEnough(choices(nodes, wishOf(q.GPU, q.GPUCount, q.CPU, q.MemoryGB), o.Partition), time.Duration(q.TimeoutSeconds)*time.Second)
	waits := p.waits(ctx, o, q, some, pending)
	var all []sdk.Offer
	for i, c := range some {
		offer := sdk.Offer{WaitSeconds: waits[i].Seconds(), Queue: jobsWait(pending[c.partition]), ID: join(o.Host, c.partition, c.kind), Region: o.Host, MemoryGB: float64(c.memoryMB) / 1024, Stock: bare.Stock(c.free)}
		if q.GPU != "" {
			offer.GPU, offer.GPUCount = gpu.Canonical(c.kind), max(1, q.GPUCount)
			if c.kind == "" {
				offer.GPU = gpu.Canonical(q.GPU)
			}
		}
		all = append(all, offer)
	}
	return all, nil
}

// longEnough leaves out partitions that allow no job of this time. If that leaves none, it keeps all,
// for the start to say so.
func longEnough(all []choice, timeout time.Duration) []choice {
	fits := slices.DeleteFunc(slices.Clone(all), func(c choice) bool { return c.limit > 0 && timeout > c.limit })
	if len(fits) == 0 {
		return all
	}
	return fits
}

// nodes asks the cluster, and refuses a partition that it does not have. pending are the numbers
// of jobs that wait, by partition, where they are asked for.
func (p *Provider) nodes(ctx context.Context, o options, queue bool) (_ []node, pending map[string]int, _ error) {
	asked := "0"
	if queue {
		asked = "1"
	}
	lines, err := p.run(ctx, o.Host, offersScript, nil, asked)
	if err != nil {
		return nil, nil, err
	}
	nodes := parseNodes(lines)
	var names []string
	for _, n := range nodes {
		if !slices.Contains(names, n.Partition) {
			names = append(names, n.Partition)
		}
	}
	if o.Partition != "" && !slices.Contains(names, o.Partition) {
		return nil, nil, sdk.Errorf(sdk.Invalid, "on %s: there is no partition %s%s; there are %s", o.Host, o.Partition, nearest.Of(o.Partition, names), strings.Join(names, ", "))
	}
	return nodes, pendingJobs(lines), nil
}
