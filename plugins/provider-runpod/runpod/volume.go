package runpod

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/seer-engine/seer/sdk"
)

const (
	smallestVolume = 10   // GB
	largestVolume  = 4096 // GB
	volumePerMonth = 0.07 // USD for a GB
)

// volume is a network volume of RunPod's: it is in one data centre, and its name need
// not be the only one of its kind.
type volume struct {
	ID         string `json:"id,omitempty"`
	Name       string `json:"name"`
	Size       int    `json:"size"` // GB
	DataCenter string `json:"dataCenter"`
}

// mountedVolume is the one that a machine gets.
type mountedVolume struct {
	ID         string `json:"id"`
	DataCenter string `json:"data_center"`
}

func checkVolumes(volumes []sdk.Volume) error {
	if len(volumes) > 1 {
		return sdk.Errorf(sdk.Invalid, "RunPod mounts one volume, and this machine has %d; keep everything on one", len(volumes))
	}
	for _, v := range volumes {
		switch {
		case v.Name == "" || !path.IsAbs(v.Path):
			return sdk.Errorf(sdk.Invalid, "the volume %q needs a name and an absolute path", v.Name)
		case v.ReadOnly:
			return sdk.Errorf(sdk.Unsupported, "RunPod cannot mount the volume %q read-only", v.Name)
		case v.SizeGB > largestVolume:
			return sdk.Errorf(sdk.Invalid, "the volume %q is to have %d GB; RunPod's largest has %d", v.Name, v.SizeGB, largestVolume)
		}
	}
	return nil
}

// ensureVolume finds the volume of the machine, and makes it where there is none.
func (c *creation) ensureVolume(ctx context.Context) (sdk.CreateStep, error) {
	wanted := c.machine.spec.Volumes[0]
	all, err := c.client.volumes(ctx)
	if err != nil {
		return sdk.CreateStep{}, err
	}
	if v, ok := pickVolume(all, wanted.Name, c.what.DataCenters); ok {
		if v.Size < wanted.SizeGB {
			c.logf("the volume %s (%s) has %d GB, not the %d asked for; enlarge it at https://console.runpod.io/user/storage", v.Name, v.ID, v.Size, wanted.SizeGB)
		}
		return c.mount(v)
	}
	if c.cur.Step == stepVolume && c.mayAppear() {
		return c.again()
	}
	if err := c.spent(); err != nil {
		return sdk.CreateStep{}, err
	}
	place, err := c.volumePlace(ctx)
	if err != nil {
		return sdk.CreateStep{}, err
	}
	v := volume{Name: wanted.Name, Size: max(wanted.SizeGB, smallestVolume), DataCenter: place}
	made, err := c.client.makeVolume(ctx, v)
	if inDoubt(err) {
		return c.lost(stepVolume, "volume", err)
	}
	if err != nil {
		return sdk.CreateStep{}, err
	}
	c.logf("made the volume %s (%s, %d GB) in %s; it stays when the machine ends, and costs about $%.2f a month until you delete it",
		v.Name, made.ID, v.Size, place, float64(v.Size)*volumePerMonth)
	made.DataCenter = place
	return c.mount(made)
}

func (c *creation) mount(v volume) (sdk.CreateStep, error) {
	if !idForm.MatchString(v.ID) || !dataCenterForm.MatchString(v.DataCenter) {
		return sdk.CreateStep{}, sdk.Errorf(sdk.Internal, "RunPod describes the volume %s without a usable id and place", v.Name)
	}
	c.cur.Volume, c.cur.Attempts = &mountedVolume{v.ID, v.DataCenter}, 0
	return c.next(stepPlace)
}

// pickVolume takes a volume by its name, in one of the places if there are any, and
// the earlier place first. All who look at the same volumes take the same one.
func pickVolume(all []volume, name string, places []string) (volume, bool) {
	rank := func(v volume) int { return slices.Index(places, v.DataCenter) }
	var best volume
	found := false
	for _, v := range all {
		if v.Name != name || len(places) > 0 && rank(v) < 0 {
			continue
		}
		if !found || rank(v) < rank(best) || rank(v) == rank(best) && v.ID < best.ID {
			best, found = v, true
		}
	}
	return best, found
}

// volumePlace is where a new volume is made: where the machine can be rented now, and
// volumes can be made.
func (c *creation) volumePlace(ctx context.Context) (string, error) {
	centers, err := c.client.dataCenters(ctx)
	if err != nil {
		return "", err
	}
	places := c.what.DataCenters
	if len(places) == 0 {
		if places, err = c.client.placesOf(ctx, c.what, c.machine); err != nil {
			return "", err
		}
	}
	for _, place := range places {
		if slices.ContainsFunc(centers, func(dc dataCenter) bool { return dc.ID == place && len(dc.Volumes) > 0 }) {
			return place, nil
		}
	}
	return "", sdk.Errorf(sdk.NoCapacity, "no data centre of RunPod's that has %s free can make a volume now; take another GPU, or make the volume yourself", c.what.ID)
}

// placesOf are the data centres that have what is wanted, those with the most first.
func (c *client) placesOf(ctx context.Context, what choice, m machine) ([]string, error) {
	if what.VCPUs > 0 {
		all, err := c.cpus(ctx, what.VCPUs)
		for _, f := range all {
			if f.ID == what.ID {
				return f.free(), err
			}
		}
		return nil, err
	}
	all, err := c.gpus(ctx, max(m.spec.GPUCount, 1), m.options)
	for _, g := range all {
		if g.ID == what.ID {
			return g.free(), err
		}
	}
	return nil, err
}

func (c *client) volumes(ctx context.Context) ([]volume, error) {
	var answer struct {
		Volumes []volume `json:"networkVolumes"`
	}
	err := c.do(ctx, call{doing: "asking for the network volumes", method: "GET", path: "/network-volumes"}, &answer)
	return answer.Volumes, err
}

func (c *client) makeVolume(ctx context.Context, v volume) (volume, error) {
	var made volume
	err := c.do(ctx, call{doing: fmt.Sprintf("making the volume %s", v.Name), method: "POST", path: "/network-volumes", body: v}, &made)
	return made, err
}
