package fakerunpod

import (
	"net/http"
	"slices"
	"strings"
)

type createBody struct {
	changes
	Name          string      `json:"name"`
	Cloud         string      `json:"cloud"`
	GPU           *gpuRequest `json:"gpu"`
	CPU           *cpuRequest `json:"cpu"`
	Mounts        mounts      `json:"mounts"`
	DataCenterIDs []string    `json:"dataCenterIds"`
	Global        bool        `json:"globalNetworking"`
	StartJupyter  *bool       `json:"startJupyter"`
	StartSSH      *bool       `json:"startSsh"`
	TemplateID    *string     `json:"templateId"`
}

func createPod(c *Cloud, _ *request, body *createBody) (reply, error) {
	p, err := c.newPod(body)
	if err != nil {
		return reply{}, err
	}
	if err := c.place(p, body.DataCenterIDs); err != nil {
		return reply{}, err
	}
	c.free(p, -1)
	c.pods = append(c.pods, p)
	c.begin(p, provisioning)
	v := c.view(p)
	return created(v)
}

// newPod checks a request in the order that costs the user least.
func (c *Cloud) newPod(body *createBody) (*pod, error) {
	if err := c.expandTemplate(body); err != nil {
		return nil, err
	}
	setDefault(&body.Cloud, "SECURE")
	p := &pod{
		config: newConfig(), id: newID(), key: newKey(), hex: newHex(), name: body.Name, cloud: body.Cloud,
		mounts: body.Mounts, gpu: body.GPU, cpu: body.CPU, global: body.Global, createdAt: c.now(),
		log: newLogs(c.now), life: notBegun(),
	}
	p.apply(body.changes)
	for _, check := range []func(*pod) error{checkRules, c.checkCompute, c.checkReferences, c.checkImage} {
		if err := check(p); err != nil {
			return nil, err
		}
	}
	if body.StartSSH != nil && *body.StartSSH {
		p.publicKey = strings.Join(c.sshKeys, "\n")
	}
	if body.StartJupyter != nil && *body.StartJupyter {
		p.jupyter = random(16)
	}
	return p, nil
}

func (c *Cloud) expandTemplate(body *createBody) error {
	if body.TemplateID == nil {
		return nil
	}
	t, err := c.podTemplate(*body.TemplateID)
	if err != nil {
		return err
	}
	body.changes = body.over(t.config)
	if body.StartSSH == nil {
		body.StartSSH = &t.StartSSH
	}
	if body.StartJupyter == nil {
		body.StartJupyter = &t.StartJupyter
	}
	if body.CPU != nil {
		return nil
	}
	if body.Mounts.Persistent == nil && len(body.Mounts.Network) == 0 {
		body.Mounts = t.Mounts
	}
	if g := body.GPU; g != nil && g.AllowedCuda == nil && g.MinCuda == "" {
		g.AllowedCuda = t.AllowedCuda
	}
	return nil
}

func checkRules(p *pod) error {
	bad := func(text string, args ...any) error { return problemf(http.StatusBadRequest, text, args...) }
	switch {
	case (p.gpu == nil) == (p.cpu == nil):
		return bad("exactly one of gpu or cpu must be set")
	case p.mounts.Persistent != nil && p.mounts.Network != nil:
		return bad("mounts.persistent and mounts.network are mutually exclusive")
	case p.mounts.Persistent != nil && p.cpu != nil:
		return bad("mounts.persistent is not supported on CPU pods")
	case p.gpu != nil && len(p.gpu.AllowedCuda) > 0 && p.gpu.MinCuda != "":
		return bad("gpu.allowedCudaVersions and gpu.minCudaVersion are mutually exclusive")
	case len(p.mounts.Network) > 0 && p.cloud != "SECURE":
		return bad("network volumes are only available in SECURE cloud")
	case p.cpu != nil && p.cpu.VCPUCount&(p.cpu.VCPUCount-1) != 0:
		return bad("cpu.vcpuCount must be a power of two")
	case len(p.name) > maxName:
		return bad("name is longer than %d characters", maxName)
	}
	return p.check()
}

// checkCompute finds the type and what it costs.
func (c *Cloud) checkCompute(p *pod) error {
	if p.cpu != nil {
		flavour, ok := c.cpu(p.cpu.ID)
		if !ok || p.cpu.VCPUCount > maxVCPU {
			return problemf(http.StatusBadRequest, "invalid CPU flavor or vCPU count: %s with %d", p.cpu.ID, p.cpu.VCPUCount)
		}
		p.memory = int(flavour.RAMPerVCPU * float64(p.cpu.VCPUCount))
		p.rate = flavour.PricePerVCPU * float64(p.cpu.VCPUCount)
		return nil
	}
	g, ok := c.gpu(p.gpu.ID)
	if !ok {
		return problemf(http.StatusBadRequest, "invalid GPU type: %s", p.gpu.ID)
	}
	p.rate = g.price(p.cloud) * float64(p.gpu.Count)
	hosts := p.gpu.cudaHosts(g)
	switch {
	case len(hosts) > 0:
		p.cuda = &hosts[len(hosts)-1]
	case len(p.gpu.AllowedCuda) > 0 || p.gpu.MinCuda != "":
		return problemf(http.StatusBadRequest, noCapacity)
	}
	return nil
}

// cudaHosts are the versions of the hosts that fit.
func (r gpuRequest) cudaHosts(g GPU) []string {
	return slices.DeleteFunc(slices.Clone(g.Cuda), func(v string) bool {
		return len(r.AllowedCuda) > 0 && !slices.Contains(r.AllowedCuda, v) || r.MinCuda != "" && !cudaAtLeast(v, r.MinCuda)
	})
}

// checkReferences finds what the request names by id.
func (c *Cloud) checkReferences(p *pod) error {
	if p.Registry != nil {
		if _, err := c.registry(*p.Registry); err != nil {
			return err
		}
	}
	for _, m := range p.mounts.Network {
		v, err := c.volume(m.VolumeID)
		if err != nil {
			return err
		}
		p.volume = v
	}
	return nil
}

func (c *Cloud) checkImage(p *pod) error {
	if !c.options.LateImages && !c.options.Images(p.Image) {
		return problemf(http.StatusUnprocessableEntity, "The image %q could not be found. Check its name and tag, and the registry credential.", p.Image)
	}
	return nil
}

// place finds a data centre with a free machine.
func (c *Cloud) place(p *pod, wanted []string) error {
	if !c.credit {
		return problemf(http.StatusPaymentRequired, noCredit)
	}
	for _, id := range wanted {
		if _, known := c.dataCenter(id); !known {
			return problemf(http.StatusBadRequest, "invalid data center: %s", id)
		}
	}
	for _, dc := range c.options.DataCenters {
		if len(wanted) > 0 && !slices.Contains(wanted, dc.ID) || p.volume != nil && p.volume.DataCenter != dc.ID {
			continue
		}
		if c.fits(p, dc.ID) {
			p.dataCenter = dc.ID
			return nil
		}
	}
	return problemf(http.StatusBadRequest, noCapacity)
}

// fits reports whether a data centre has room. A request without gpu.count finds
// none anywhere, as users have seen.
func (c *Cloud) fits(p *pod, dataCenter string) bool {
	if c.behaviour.NoCapacity {
		return false
	}
	if p.cpu != nil {
		return c.stock[place{p.cpu.ID, dataCenter}] > 0
	}
	g, _ := c.gpu(p.gpu.ID)
	return p.gpu.Count > 0 && p.gpu.Count <= g.MaxCount && g.price(p.cloud) > 0 &&
		c.stock[place{p.gpu.ID, dataCenter}] >= p.gpu.Count
}
