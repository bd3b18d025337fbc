package kubernetes

import (
	"context"
	"fmt"
	"strconv"

	"github.com/seer-engine/seer/sdk"
)

const defaultVolumeGB = 10

// ensureVolumes finds the PersistentVolumeClaims of the machine, and makes those that are
// missing. It returns lines for the user.
func (c cluster) ensureVolumes(ctx context.Context, s sdk.MachineSpec, o options) (log []string, err error) {
	for _, v := range s.Volumes {
		line, err := c.ensureVolume(ctx, v, o)
		if err != nil {
			return log, err
		}
		if line != "" {
			log = append(log, line)
		}
	}
	return log, nil
}

func (c cluster) ensureVolume(ctx context.Context, v sdk.Volume, o options) (string, error) {
	const kind = "persistentvolumeclaims"
	var have claim
	_, err := c.do(ctx, call{doing: "looking for the volume " + v.Name, path: c.core(kind, v.Name)}, &have)
	if err == nil {
		size, ok := quantity(have.Spec.Resources.Requests["storage"])
		if ok && size < float64(v.SizeGB)*1e9 {
			return fmt.Sprintf("the volume %s has %s, not the %d GB asked for; enlarge the PersistentVolumeClaim", v.Name, have.Spec.Resources.Requests["storage"], v.SizeGB), nil
		}
		return "", nil
	}
	if !is(err, 404) {
		return "", err
	}
	size := v.SizeGB
	if size <= 0 {
		size = defaultVolumeGB
	}
	made := claim{
		APIVersion: "v1", Kind: "PersistentVolumeClaim",
		Metadata: meta{Name: v.Name, Namespace: c.namespace, Labels: map[string]string{managedBy: manager, labelVolume: v.Name}},
		Spec: claimSpec{
			AccessModes: []string{o.AccessMode}, StorageClassName: o.StorageClass,
			Resources: resources{Requests: map[string]string{"storage": strconv.Itoa(size) + "G"}},
		},
	}
	_, err = c.do(ctx, call{doing: "making the volume " + v.Name, method: "POST", path: c.core(kind), body: made}, nil)
	if exists(err) { // another machine has made it, or the answer of an earlier call was lost
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("made the volume %s (PersistentVolumeClaim, %d GB); it stays when the machine ends, until you delete it", v.Name, size), nil
}
