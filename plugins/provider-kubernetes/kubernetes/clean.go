package kubernetes

import (
	"context"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// cachePrefix begins the names of volumes that hold nothing but what can be had again: the models
// of gpu.use_model_volumes are in seer-models. Other volumes have the user's files.
const cachePrefix = "seer-"

// Clean implements [sdk.Cleaner]: it removes the caches that this plugin has made and that no pod
// uses.
func (p *Provider) Clean(ctx context.Context, in sdk.CleanInput) ([]sdk.Cleaned, error) {
	_, c, err := p.open(in.Options)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	claims, _, err := all[claim](ctx, c, call{doing: "listing the volumes", path: c.core("persistentvolumeclaims"), query: selector(managedBy+"="+manager, labelVolume)})
	if err != nil {
		return nil, err
	}
	pods, _, err := all[pod](ctx, c, call{doing: "listing the pods", path: c.core("pods")})
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for _, pod := range pods {
		for _, v := range pod.Spec.Volumes {
			if v.PersistentVolumeClaim != nil && pod.Status.Phase != "Succeeded" && pod.Status.Phase != "Failed" {
				used[v.PersistentVolumeClaim.ClaimName] = true
			}
		}
	}
	var cleaned []sdk.Cleaned
	for _, cl := range claims {
		name := cl.Metadata.Name
		if used[name] || !strings.HasPrefix(name, cachePrefix) || cl.Metadata.Labels[labelVolume] != name {
			continue
		}
		if !in.DryRun {
			body := map[string]any{"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": map[string]string{"uid": cl.Metadata.UID}}
			_, err := c.do(ctx, call{doing: "removing the volume " + name, method: "DELETE", path: c.core("persistentvolumeclaims", name), body: body}, nil)
			if err != nil && !is(err, 404) {
				return cleaned, err
			}
		}
		size, _ := quantity(cl.Spec.Resources.Requests["storage"]) // 0 = not known
		cleaned = append(cleaned, sdk.Cleaned{Name: c.context + ":" + c.namespace + "/" + name, Bytes: int64(size)})
	}
	return cleaned, nil
}
