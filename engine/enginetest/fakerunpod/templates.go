package fakerunpod

import (
	"net/http"
	"slices"
)

// template is settings for containers, kept under an id.
type template struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	config
	Mounts       mounts   `json:"mounts"`
	Serverless   bool     `json:"serverless"`
	Public       bool     `json:"public"`
	Category     string   `json:"category"`
	StartSSH     bool     `json:"startSsh"`
	StartJupyter bool     `json:"startJupyter"`
	AllowedCuda  []string `json:"allowedCudaVersions"`
}

type templateBody struct {
	changes
	Name         *string   `json:"name"`
	Mounts       *mounts   `json:"mounts"`
	Serverless   *bool     `json:"serverless"`
	Public       *bool     `json:"public"`
	Category     *string   `json:"category"`
	StartSSH     *bool     `json:"startSsh"`
	StartJupyter *bool     `json:"startJupyter"`
	AllowedCuda  *[]string `json:"allowedCudaVersions"`
}

func (t *template) apply(b templateBody) {
	t.config.apply(b.changes)
	set(&t.Name, b.Name)
	set(&t.Mounts, b.Mounts)
	set(&t.Serverless, b.Serverless)
	set(&t.Public, b.Public)
	set(&t.Category, b.Category)
	set(&t.StartSSH, b.StartSSH)
	set(&t.StartJupyter, b.StartJupyter)
	set(&t.AllowedCuda, b.AllowedCuda)
}

func (t *template) view() template {
	v := *t
	v.config, v.AllowedCuda = t.settings(), slices.Clone(t.AllowedCuda)
	return v
}

func (c *Cloud) template(id string) (*template, error) {
	return one(c.templates, "template", func(t *template) bool { return t.ID == id })
}

// podTemplate is a template that pods can be made from.
func (c *Cloud) podTemplate(id string) (*template, error) {
	t, err := c.template(id)
	if err == nil && t.Serverless {
		return nil, problemf(http.StatusUnprocessableEntity, "template %s is a serverless template", id)
	}
	return t, err
}

func listTemplates(c *Cloud, _ *request) (reply, error) {
	all := []template{}
	for _, t := range c.templates {
		all = append(all, t.view())
	}
	return ok(map[string]any{"templates": all})
}

func listPublicTemplates(*Cloud, *request) (reply, error) {
	return ok(map[string]any{"templates": []template{}})
}

func createTemplate(c *Cloud, _ *request, body *templateBody) (reply, error) {
	t := &template{
		ID: random(10), config: newConfig(), Category: "NVIDIA", StartSSH: true, StartJupyter: true, AllowedCuda: []string{},
	}
	t.apply(*body)
	if err := t.check(); err != nil {
		return reply{}, err
	}
	c.templates = append(c.templates, t)
	return created(t.view())
}

func getTemplate(_ *Cloud, t *template) (reply, error) {
	return ok(t.view())
}

func patchTemplate(_ *Cloud, body *templateBody, t *template) (reply, error) {
	next := t.view()
	next.apply(*body)
	if err := next.check(); err != nil {
		return reply{}, err
	}
	*t = next
	return ok(t.view())
}

func deleteTemplate(c *Cloud, t *template) (reply, error) {
	c.templates = slices.DeleteFunc(c.templates, func(other *template) bool { return other == t })
	return nothing()
}
