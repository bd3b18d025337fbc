package fakerunpod

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// registry is a credential for a container registry; its secret is not kept.
type registry struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func (c *Cloud) registry(id string) (*registry, error) {
	return one(c.registries, "registry", func(r *registry) bool { return r.ID == id })
}

func listRegistries(c *Cloud, _ *request) (reply, error) {
	return ok(map[string]any{"registries": copies(c.registries)})
}

func createRegistry(c *Cloud, _ *request, reg *registry) (reply, error) {
	reg.ID = random(10)
	c.registries = append(c.registries, reg)
	return created(*reg)
}

func getRegistry(_ *Cloud, reg *registry) (reply, error) {
	return ok(*reg)
}

// deleteRegistry takes a credential away. Templates lose it without a word; a pod
// that uses it keeps it.
func deleteRegistry(c *Cloud, reg *registry) (reply, error) {
	uses := func(cfg config) bool { return cfg.Registry != nil && *cfg.Registry == reg.ID }
	if slices.ContainsFunc(c.pods, func(p *pod) bool { return p.status != terminated && uses(p.config) }) {
		return reply{}, problemf(http.StatusBadRequest, "the registry credential is in use by a pod")
	}
	for _, t := range c.templates {
		if uses(t.config) {
			t.Registry = nil
		}
	}
	c.registries = slices.DeleteFunc(c.registries, func(other *registry) bool { return other == reg })
	return nothing()
}

func getSSHKeys(c *Cloud, _ *request) (reply, error) {
	return ok(map[string]any{"keys": slices.Clone(c.sshKeys)})
}

type keysBody struct{ Keys []string }

func putSSHKeys(c *Cloud, _ *request, body *keysBody) (reply, error) {
	c.sshKeys = body.Keys
	return ok(map[string]any{"keys": slices.Clone(c.sshKeys)})
}

// graphql is as much of the older API as tells the user. A failure is an answer there.
func graphql(c *Cloud, r *request) (reply, error) {
	var body struct{ Query string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return reply{}, problemf(http.StatusBadRequest, "POST body missing, invalid Content-Type, or JSON object has no keys.")
	}
	if strings.Join(strings.Fields(body.Query), "") != "query{myself{id}}" {
		return ok(map[string]any{"errors": []any{map[string]string{"message": "Cannot query that here"}}})
	}
	return ok(map[string]any{"data": map[string]any{"myself": map[string]string{"id": c.options.User}}})
}
