package fakerunpod

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
)

// volume is a network volume: a folder in one data centre.
type volume struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Size       int    `json:"size"` // GB
	DataCenter string `json:"dataCenter"`
	Type       string `json:"type"`
}

func (c *Cloud) volumeDir(v *volume) string { return filepath.Join(c.options.Dir, "volumes", v.ID) }

// VolumeDir is the folder of a network volume on this computer.
func (c *Cloud) VolumeDir(id string) string { return c.volumeDir(&volume{ID: id}) }

func (c *Cloud) volume(id string) (*volume, error) {
	return one(c.volumes, "network volume", func(v *volume) bool { return v.ID == id })
}

func listVolumes(c *Cloud, _ *request) (reply, error) {
	return ok(map[string]any{"networkVolumes": copies(c.volumes)})
}

func createVolume(c *Cloud, _ *request, v *volume) (reply, error) {
	dc, known := c.dataCenter(v.DataCenter)
	switch {
	case !known || len(dc.Volumes) == 0:
		return reply{}, problemf(http.StatusBadRequest, "data center %s does not support network volumes", v.DataCenter)
	case v.Type == "":
		v.Type = dc.Volumes[0]
	case !slices.Contains(dc.Volumes, v.Type):
		return reply{}, problemf(http.StatusBadRequest, "data center %s has no %s volumes", v.DataCenter, v.Type)
	}
	v.ID = random(10)
	if err := os.MkdirAll(c.volumeDir(v), 0o755); err != nil {
		return reply{}, err
	}
	c.volumes = append(c.volumes, v)
	return created(*v)
}

func getVolume(_ *Cloud, v *volume) (reply, error) {
	return ok(*v)
}

type volumeBody struct {
	Name *string
	Size *int
}

func patchVolume(_ *Cloud, body *volumeBody, v *volume) (reply, error) {
	if body.Size != nil && *body.Size < v.Size {
		return reply{}, problemf(http.StatusBadRequest, "the size of a network volume cannot be reduced")
	}
	set(&v.Name, body.Name)
	set(&v.Size, body.Size)
	return ok(*v)
}

func deleteVolume(c *Cloud, v *volume) (reply, error) {
	if slices.ContainsFunc(c.pods, func(p *pod) bool { return p.volume == v && p.status != terminated }) {
		return reply{}, problemf(http.StatusBadRequest, "the network volume is in use by a pod")
	}
	c.volumes = slices.DeleteFunc(c.volumes, func(other *volume) bool { return other == v })
	if err := os.RemoveAll(c.volumeDir(v)); err != nil {
		return reply{}, err
	}
	return nothing()
}
