package fakerunpod

import (
	"net/http"
	"slices"
)

// find gives the pod of the path.
func (c *Cloud) find(r *request) (*pod, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lookup(r.params["id"])
}

// lookup is find for callers that hold the mutex.
func (c *Cloud) lookup(id string) (*pod, error) {
	i := slices.IndexFunc(c.pods, func(p *pod) bool { return p.id == id })
	if i < 0 || c.forgotten(c.pods[i]) {
		return nil, notFound("pod")
	}
	return c.pods[i], nil
}

func (c *Cloud) forgotten(p *pod) bool {
	return p.status == terminated && c.now().Sub(p.endedAt) >= c.options.Delays.Forget
}

func listPods(c *Cloud, r *request) (reply, error) {
	if r.pod != nil {
		return reply{}, problemf(http.StatusForbidden, "access denied")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	views := []podView{}
	for _, p := range c.pods {
		if p.status != terminated && c.now().Sub(p.createdAt) >= c.behaviour.ListDelay {
			views = append(views, c.view(p))
		}
	}
	answer := map[string]any{"pods": views}
	if n := c.behaviour.PageSize; n > 0 {
		from := slices.IndexFunc(views, func(v podView) bool { return v.ID == r.URL.Query().Get("cursor") }) + 1
		to := min(from+n, len(views))
		answer["pods"] = views[from:to]
		if to < len(views) {
			answer["nextCursor"] = views[to-1].ID
		}
	}
	return ok(answer)
}

func getPod(c *Cloud, p *pod) (reply, error) {
	return ok(c.view(p))
}

func deletePod(c *Cloud, p *pod) (reply, error) {
	if p.status == terminated {
		return reply{}, notFound("pod")
	}
	c.terminate(p)
	return nothing()
}

type actionBody struct{ Action string }

func podAction(c *Cloud, body *actionBody, p *pod) (reply, error) {
	if !slices.Contains(p.actions(), body.Action) {
		return reply{}, problemf(http.StatusConflict, "action %s is not valid for a pod that is %s", body.Action, p.status)
	}
	if p.locked && (body.Action == "stop" || body.Action == "restart") {
		return reply{}, problemf(http.StatusConflict, "the pod is locked")
	}
	if body.Action == "terminate" {
		c.terminate(p)
		return nothing()
	}
	if err := c.act(p, body.Action); err != nil {
		return reply{}, err
	}
	return ok(c.view(p))
}

func (c *Cloud) act(p *pod, action string) error {
	switch action {
	case "stop":
		c.halt(p, exited)
	case "restart":
		c.reset(p)
	case "start":
		if err := c.resume(p); err != nil {
			return err
		}
		c.begin(p, starting)
	}
	return nil
}

// resume takes the pod's place at its host again, where it is still free. Its host
// is its data centre here.
func (c *Cloud) resume(p *pod) error {
	switch {
	case !c.credit:
		return problemf(http.StatusPaymentRequired, noCredit)
	case p.status == failed:
		return nil // it still has its place
	case !c.fits(p, p.dataCenter):
		return problemf(http.StatusBadRequest, noFreeGPU)
	}
	c.free(p, -1)
	return nil
}

// reset starts the container of a running pod anew, without its disk.
func (c *Cloud) reset(p *pod) {
	p.life.cancel()
	c.begin(p, running)
}

type patchBody struct {
	changes
	Name       *string `json:"name"`
	Global     *bool   `json:"globalNetworking"`
	Locked     *bool   `json:"locked"`
	Mounts     *mounts `json:"mounts"`
	TemplateID *string `json:"templateId"`
}

func patchPod(c *Cloud, body *patchBody, p *pod) (reply, error) {
	if p.status == terminated {
		return reply{}, problemf(http.StatusConflict, "the pod is terminated")
	}
	if err := c.patch(p, *body); err != nil {
		return reply{}, err
	}
	return ok(c.view(p))
}

func (c *Cloud) patch(p *pod, body patchBody) error {
	if body.TemplateID != nil {
		t, err := c.podTemplate(*body.TemplateID)
		if err != nil {
			return err
		}
		body.changes = body.over(t.config)
	}
	next := *p
	next.config = p.settings()
	next.apply(body.changes)
	for _, check := range []func(*pod) error{checkRules, c.checkReferences, c.checkImage} {
		if err := check(&next); err != nil {
			return err
		}
	}
	mounted, err := p.mounts.patched(body.Mounts)
	if err != nil {
		return err
	}
	p.config, p.mounts = next.config, mounted
	set(&p.name, body.Name)
	set(&p.global, body.Global)
	set(&p.locked, body.Locked)
	if p.status == running && (body.Image != nil || body.Args != nil || body.Env != nil || body.Ports != nil || body.Disk != nil) {
		c.reset(p)
	}
	return nil
}

// patched may change paths and enlarge a persistent mount, and nothing else.
func (m mounts) patched(next *mounts) (mounts, error) {
	switch {
	case next == nil || next.Persistent == nil && next.Network == nil:
		return m, nil
	case next.Persistent != nil && next.Network != nil:
		return m, problemf(http.StatusBadRequest, "mounts.persistent and mounts.network are mutually exclusive")
	case next.Network != nil && len(next.Network) == 0:
		return m, problemf(http.StatusBadRequest, "mounts cannot be cleared")
	case (next.Persistent != nil) != (m.Persistent != nil), len(next.Network) != len(m.Network):
		return m, problemf(http.StatusBadRequest, "the kind of a mount cannot be changed")
	case len(m.Network) > 0 && m.Network[0].VolumeID != next.Network[0].VolumeID:
		return m, problemf(http.StatusBadRequest, "the network volume of a pod cannot be changed")
	}
	return *next, nil
}
