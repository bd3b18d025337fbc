package slurm

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/plugins/internal/bare"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/gpu"
)

// Create implements [sdk.Provider]: it submits the job of the key, unless there is one.
func (p *Provider) Create(ctx context.Context, spec sdk.MachineSpec, _ json.RawMessage) (sdk.CreateStep, error) {
	if err := refused(spec); err != nil {
		return sdk.CreateStep{}, err
	}
	o, err := p.options(spec.Options)
	if err != nil {
		return sdk.CreateStep{}, err
	}
	nodes, _, err := p.nodes(ctx, o, false)
	if err != nil {
		return sdk.CreateStep{}, err
	}
	where, err := o.place(spec, nodes)
	if err != nil {
		return sdk.CreateStep{}, err
	}
	left := time.Duration(spec.TimeoutSeconds) * time.Second
	if spec.EndUnix > 0 {
		left = time.Until(time.Unix(spec.EndUnix, 0))
	}
	if left <= 0 {
		return sdk.CreateStep{}, sdk.Errorf(sdk.Invalid, "the provider slurm needs an end for its jobs; set sandbox.timeout")
	}
	if where.limit > 0 && left > where.limit {
		return sdk.CreateStep{}, sdk.Errorf(sdk.Invalid, "the partition %s allows jobs of %s; lower sandbox.timeout (%s), or choose another partition", where.partition, where.limit, left.Round(time.Second))
	}
	spec.Offer, spec.Regions = "", nil
	if spec.Options, err = bare.Options(o.VolumesDir); err != nil {
		return sdk.CreateStep{}, err
	}
	stdin, err := json.Marshal(spec)
	if err != nil {
		return sdk.CreateStep{}, err
	}
	args := append([]string{spec.Key, spec.Owner, strconv.FormatInt(spec.EndUnix, 10), sdk.SSHProgram, o.script(where.minutes(left))}, o.sbatch(spec, where, left)...)
	lines, err := p.run(ctx, o.Host, submitScript, stdin, args...)
	if err != nil {
		return sdk.CreateStep{}, err
	}
	for _, l := range lines {
		if l[0] == "job" && len(l) == 2 && number.MatchString(l[1]) {
			return sdk.CreateStep{Handle: join(o.Host, l[1], spec.Key), Log: []string{fmt.Sprintf("job %s on %s, partition %s", l[1], o.Host, where.partition)}}, nil
		}
	}
	return sdk.CreateStep{}, sdk.Errorf(sdk.Internal, "on %s: sbatch gave no number of a job", o.Host)
}

// refused says what no cluster can do.
func refused(spec sdk.MachineSpec) error {
	switch {
	case !short.MatchString(spec.Key) || !short.MatchString(spec.Owner):
		return sdk.Errorf(sdk.Invalid, "%q of %q is no key of a machine", spec.Key, spec.Owner)
	case spec.GPUShare != nil:
		return sdk.Errorf(sdk.Unsupported, "the provider slurm gives whole GPUs; remove sandbox.gpu_share")
	}
	return bare.Refused(Name, "node", spec)
}

// place chooses the partition and the kind of GPU: those of the offer, or else the best that has
// what is asked for.
func (o options) place(spec sdk.MachineSpec, nodes []node) (choice, error) {
	w := wishOf(spec.GPU, spec.GPUCount, spec.CPU, spec.MemoryGB)
	if o.Gres != "" {
		w.gpu, w.count = "", 0 // the user knows better
	}
	all := choices(nodes, w, o.Partition)
	if host, rest, ok := strings.Cut(spec.Offer, "/"); ok {
		partition, kind, _ := strings.Cut(rest, "/")
		all = slices.DeleteFunc(all, func(c choice) bool {
			return host != o.Host || c.partition != partition || o.Gres == "" && c.kind != kind
		})
	}
	if len(all) > 0 {
		best := slices.IndexFunc(all, func(c choice) bool { return c.free > 0 })
		return all[max(0, best)], nil
	}
	if w.gpu != "" {
		return choice{}, sdk.Errorf(sdk.Unsupported, "on %s: no node%s has %d × %s%s", o.Host, o.inPartition(), w.count, w.gpu, kindsOf(nodes, o.Partition))
	}
	return choice{}, sdk.Errorf(sdk.Unsupported, "on %s: no node%s has %d cores and %d MB of memory", o.Host, o.inPartition(), w.cpu, w.memoryMB)
}

func (o options) inPartition() string {
	if o.Partition == "" {
		return ""
	}
	return " of the partition " + o.Partition
}

// kindsOf are the GPUs that there are, in words.
func kindsOf(nodes []node, partition string) string {
	var kinds []string
	for _, n := range nodes {
		for kind, count := range n.GPUs {
			text := fmt.Sprintf("%d × %s", count, gpu.Canonical(kind))
			if kind == "" {
				text = fmt.Sprintf("%d GPUs", count)
			}
			if (partition == "" || n.Partition == partition) && !slices.Contains(kinds, text) {
				kinds = append(kinds, text)
			}
		}
	}
	if len(kinds) == 0 {
		return "; sinfo shows no GPUs"
	}
	slices.Sort(kinds)
	return "; nodes have " + strings.Join(kinds, ", ")
}

// minutes are the time limit of a job. The machine ends by itself when its time is over; Slurm's
// limit, two minutes later where the partition allows that, is for when it does not.
func (c choice) minutes(left time.Duration) int {
	limit := int((left+time.Minute-1)/time.Minute) + 2
	if c.limit > 0 {
		limit = min(limit, max(1, int(c.limit/time.Minute)))
	}
	return limit
}

// memoryMargin is for Seer's own programs beside the sandbox, in MB.
const memoryMargin = 300

// sbatch are the options of the job.
func (o options) sbatch(spec sdk.MachineSpec, where choice, left time.Duration) []string {
	args := []string{
		"--nodes=1", "--ntasks=1", "--no-requeue", "--signal=B:USR1@60",
		"--partition=" + where.partition, "--time=" + strconv.Itoa(where.minutes(left)),
	}
	add := func(name, value string) {
		if value != "" {
			args = append(args, "--"+name+"="+value)
		}
	}
	gres := o.Gres
	if gres == "" && spec.GPU != "" {
		gres = "gpu:"
		if where.kind != "" {
			gres += where.kind + ":"
		}
		gres += strconv.Itoa(max(1, spec.GPUCount))
	}
	add("gres", gres)
	if spec.CPU > 0 {
		add("cpus-per-task", strconv.Itoa(wishOf("", 0, spec.CPU, 0).cpu))
	}
	if spec.MemoryGB > 0 {
		add("mem", strconv.Itoa(int(spec.MemoryGB*1024)+memoryMargin)+"M")
	}
	add("account", o.Account)
	add("qos", o.QOS)
	add("constraint", o.Constraint)
	add("nodelist", o.Nodelist)
	add("exclude", o.Exclude)
	return args
}

// script is that of the job. Seer's program learns when Slurm will end the job. Modules are functions
// of login shells.
func (o options) script(minutes int) string {
	limit := fmt.Sprintf("export SEER_JOB_END=$(($(date +%%s) + %d))", 60*minutes)
	lines := []string{"#!/bin/sh", limit}
	if len(o.Modules) > 0 {
		lines = []string{"#!/bin/bash -l", limit, "module load " + quoted(o.Modules) + ` || { echo "module load fails"; exit 1; }`}
	}
	lines = append(lines, o.Setup...)
	return strings.Join(append(lines, `exec "$1" job serve "$2"`), "\n")
}

// quoted are words, none of which has a quote in it.
func quoted(words []string) string { return "'" + strings.Join(words, "' '") + "'" }
