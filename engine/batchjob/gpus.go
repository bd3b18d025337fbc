package batchjob

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/gpu"
)

type gpuFinder func(context.Context) (isolation.GPUSet, error)

// given finds the GPUs that the batch system has given to the job: the variables name them by
// index or UUID.
func given(getenv func(string) string) gpuFinder {
	names := getenv("CUDA_VISIBLE_DEVICES")
	if names == "" {
		names = getenv("SLURM_JOB_GPUS")
	}
	return func(ctx context.Context) (isolation.GPUSet, error) {
		set, err := isolation.GPUs(ctx)
		set.Found = visible(set.Found, names)
		return set, err
	}
}

func visible(found []isolation.GPU, names string) (out []isolation.GPU) {
	words := strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' })
	for _, g := range found {
		if slices.ContainsFunc(words, func(word string) bool {
			index, err := strconv.Atoi(word)
			return err == nil && index == g.Index || strings.HasPrefix(word, "GPU-") && strings.HasPrefix(g.UUID, word)
		}) {
			out = append(out, g)
		}
	}
	if len(out) == 0 && len(words) > 0 && len(words) == len(found) {
		return found // the job sees no others, under numbers of its own
	}
	return out
}

// ofJob asks for exactly the GPUs of the job. The cluster's name for them, by which they were
// asked for, need not be the driver's.
func ofJob(ctx context.Context, find gpuFinder, spec *sdk.MachineSpec) error {
	if spec.GPU == "" {
		return nil
	}
	set, err := find(ctx)
	switch want := max(1, spec.GPUCount); {
	case err != nil:
		return err
	case set.Reason != "":
		return sdk.Errorf(sdk.Unsupported, "the GPUs of this computer cannot be used: %s", set.Reason)
	case len(set.Found) < want:
		return sdk.Errorf(sdk.Unavailable, "the job has %d GPUs, as nvidia-smi shows them on this computer, and not %d", len(set.Found), want)
	}
	spec.GPU = gpu.Canonical(set.Found[0].Name)
	return nil
}
