package fakerunpod

import (
	"net/http"
	"net/url"
	"slices"
)

type gpuType struct {
	ID           string         `json:"id"`
	Name         string         `json:"name"`
	Pool         *string        `json:"pool"`
	Manufacturer string         `json:"manufacturer"`
	Memory       int            `json:"memory"`
	Secure       bool           `json:"secure"`
	Community    bool           `json:"community"`
	Price        map[string]any `json:"price"`
	MaxCount     map[string]int `json:"maxCount"`
	stockView
	CudaVersions []cudaView `json:"cudaVersions,omitempty"`
}

type cpuType struct {
	ID           string             `json:"id"`
	Name         string             `json:"name"`
	Group        string             `json:"group"`
	VCPU         map[string]int     `json:"vcpu"`
	RAMGBPerVCPU float64            `json:"ramGbPerVcpu"`
	Price        map[string]float64 `json:"price"`
	stockView
}

type stockView struct {
	Availability string      `json:"availability,omitempty"`
	DataCenters  []levelView `json:"dataCenters,omitempty"`
}

type levelView struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Availability string `json:"availability"`
}

type cudaView struct {
	Version   string `json:"version"`
	Available bool   `json:"available"`
}

// stockOf is how much of a type there is in the data centres that have any.
func (c *Cloud) stockOf(id string, a availability) stockView {
	v := stockView{}
	var levels []string
	for _, dc := range a.places(c.options.DataCenters) {
		l := level(c.stock[place{id, dc.ID}], a.count)
		if l == "NONE" || c.behaviour.NoCapacity {
			continue
		}
		levels = append(levels, l)
		v.DataCenters = append(v.DataCenters, levelView{dc.ID, dc.Name, l})
	}
	v.Availability = best(levels)
	return v
}

func (c *Cloud) gpuType(g GPU, a availability) gpuType {
	v := gpuType{
		ID: g.ID, Name: g.Name, Manufacturer: g.manufacturer(), Memory: g.MemoryGB,
		Secure: g.Secure > 0, Community: g.Community > 0,
		Price:    map[string]any{"secure": g.Secure, "community": g.Community},
		MaxCount: map[string]int{"secure": countIf(g.Secure, g.MaxCount), "community": countIf(g.Community, g.MaxCount)},
	}
	if g.Pool != "" {
		v.Pool, v.Price["serverless"] = &g.Pool, g.Secure*1.6
	}
	if !a.wanted {
		return v
	}
	if hosts := a.versions(g); g.price(a.cloud) > 0 && a.count <= g.MaxCount && (len(hosts) > 0 || len(g.Cuda) == 0) {
		v.stockView = c.stockOf(g.ID, a)
	} else {
		v.Availability = "NONE"
	}
	for _, version := range a.versions(g) {
		v.CudaVersions = append(v.CudaVersions, cudaView{version, v.Availability != "NONE"})
	}
	return v
}

func countIf(price float64, n int) int {
	if price > 0 {
		return n
	}
	return 0
}

func gpuQuery(q url.Values) (availability, error) {
	return parseAvailability(q, []string{"POD", "CLUSTER", "SERVERLESS"}, "count", "cloud", "countryCodes", "cudaVersions", "minCudaVersion")
}

func cpuQuery(q url.Values) (availability, error) {
	return parseAvailability(q, []string{"POD", "SERVERLESS"}, "vcpuCount")
}

// asked is a handler of requests whose query says which machines must be available. It is
// called with the cloud locked.
func asked(query func(url.Values) (availability, error), answer func(c *Cloud, r *request, a availability) (reply, error)) handler {
	return locked(func(c *Cloud, r *request) (reply, error) {
		a, err := query(r.URL.Query())
		if err != nil {
			return reply{}, err
		}
		return answer(c, r, a)
	})
}

func listGPUs(c *Cloud, r *request, a availability) (reply, error) {
	all := []gpuType{}
	for _, g := range c.options.GPUs {
		v := c.gpuType(g, a)
		if len(a.countries) == 0 || len(v.DataCenters) > 0 {
			all = append(all, v)
		}
	}
	return ok(map[string]any{"gpus": all})
}

func getGPU(c *Cloud, r *request, a availability) (reply, error) {
	g, known := c.gpu(r.params["id"])
	if !known {
		return reply{}, notFound("gpu type")
	}
	return ok(c.gpuType(g, a))
}

func (c *Cloud) cpuType(p CPU, a availability) cpuType {
	v := cpuType{
		ID: p.ID, Name: p.Name, Group: p.Group, VCPU: map[string]int{"min": 2, "max": maxVCPU}, RAMGBPerVCPU: p.RAMPerVCPU,
		Price: p.prices(),
	}
	if a.wanted {
		v.stockView = c.stockOf(p.ID, a)
	}
	return v
}

func listCPUs(c *Cloud, r *request, a availability) (reply, error) {
	all := []cpuType{}
	for _, p := range c.options.CPUs {
		all = append(all, c.cpuType(p, a))
	}
	return ok(map[string]any{"cpus": all})
}

func getCPU(c *Cloud, r *request, a availability) (reply, error) {
	p, known := c.cpu(r.params["id"])
	if !known {
		return reply{}, notFound("cpu type")
	}
	return ok(c.cpuType(p, a))
}

type dataCenterView struct {
	ID                 string      `json:"id"`
	Name               string      `json:"name"`
	Region             string      `json:"region"`
	GlobalNetwork      bool        `json:"globalNetwork"`
	NetworkVolumeTypes []string    `json:"networkVolumeTypes"`
	Compliance         []string    `json:"compliance"`
	GPUs               []levelView `json:"gpuAvailability,omitempty"`
	CPUs               []levelView `json:"cpuAvailability,omitempty"`
}

func (c *Cloud) dataCenterView(d DataCenter, include []string) dataCenterView {
	v := dataCenterView{
		ID: d.ID, Name: d.Name, Region: d.Region, GlobalNetwork: len(d.Volumes) > 0,
		NetworkVolumeTypes: append([]string{}, d.Volumes...), Compliance: []string{},
	}
	if slices.Contains(include, "GPU_AVAILABILITY") {
		for _, g := range c.options.GPUs {
			v.GPUs = append(v.GPUs, levelView{g.ID, g.Name, level(c.stock[place{g.ID, d.ID}], 1)})
		}
	}
	if slices.Contains(include, "CPU_AVAILABILITY") {
		for _, p := range c.options.CPUs {
			v.CPUs = append(v.CPUs, levelView{p.ID, p.Name, level(c.stock[place{p.ID, d.ID}], 1)})
		}
	}
	return v
}

func dataCenterQuery(q url.Values) (include []string, err error) {
	include = words(q, "include")
	return include, oneOf("include", include, "GPU_AVAILABILITY", "CPU_AVAILABILITY")
}

func listDataCenters(c *Cloud, r *request) (reply, error) {
	q := r.URL.Query()
	include, err := dataCenterQuery(q)
	if err != nil {
		return reply{}, err
	}
	regions, types := words(q, "regions"), words(q, "networkVolumeTypes")
	c.mu.Lock()
	defer c.mu.Unlock()
	all := []dataCenterView{}
	for _, d := range c.options.DataCenters {
		lacks := func(t string) bool { return !slices.Contains(d.Volumes, t) }
		if len(regions) > 0 && !slices.Contains(regions, d.Region) || slices.ContainsFunc(types, lacks) {
			continue
		}
		all = append(all, c.dataCenterView(d, include))
	}
	return ok(map[string]any{"dataCenters": all})
}

func getDataCenter(c *Cloud, r *request) (reply, error) {
	include, err := dataCenterQuery(r.URL.Query())
	if err != nil {
		return reply{}, err
	}
	d, known := c.dataCenter(r.params["id"])
	if !known {
		return reply{}, problemf(http.StatusNotFound, "data center not found")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return ok(c.dataCenterView(d, include))
}

// prices are those of a flavour. One that is only for Serverless has none for pods.
func (p CPU) prices() map[string]float64 {
	if p.PricePerVCPU == 0 {
		return map[string]float64{"serverlessPerVcpu": 0.04}
	}
	return map[string]float64{"securePerVcpu": p.PricePerVCPU, "serverlessPerVcpu": p.PricePerVCPU * 1.2}
}
