package fakerunpod

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// config is what a pod and a template say about their container.
type config struct {
	Image    string            `json:"image"`
	Args     string            `json:"args"`
	Disk     int               `json:"disk"` // GB
	Ports    []string          `json:"ports"`
	Env      map[string]string `json:"env"`
	Registry *string           `json:"registry"`
}

// changes are the same in a request, where each may be missing.
type changes struct {
	Image    *string            `json:"image"`
	Args     *string            `json:"args"`
	Disk     *int               `json:"disk"`
	Ports    *[]string          `json:"ports"`
	Env      *map[string]string `json:"env"`
	Registry json.RawMessage    `json:"registry"` // null takes it away
}

func newConfig() config { return config{Disk: 50, Ports: []string{}, Env: map[string]string{}} }

// apply replaces what a request names.
func (c *config) apply(ch changes) {
	set(&c.Image, ch.Image)
	set(&c.Args, ch.Args)
	set(&c.Disk, ch.Disk)
	if ch.Ports != nil {
		c.Ports = slices.Clone(*ch.Ports)
	}
	if ch.Env != nil {
		c.Env = maps.Clone(*ch.Env)
	}
	if ch.Registry != nil {
		c.Registry = nil
		_ = json.Unmarshal(ch.Registry, &c.Registry) // its type has been checked
	}
}

// over puts the changes of a request above a template: env is merged name by name.
func (ch changes) over(t config) changes {
	env := maps.Clone(t.Env)
	if ch.Env != nil {
		maps.Copy(env, *ch.Env)
	}
	base := t
	base.apply(ch)
	base.Env = env
	registry, _ := json.Marshal(base.Registry) // a string or nil
	return changes{&base.Image, &base.Args, &base.Disk, &base.Ports, &base.Env, registry}
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// command is what the args say; empty = the image's own.
func (c config) command() []string {
	p := parseArgs(c.Args)
	return append(p.Entrypoint, p.Cmd...)
}

// settings is a copy.
func (c config) settings() config {
	c.Ports, c.Env = slices.Clone(c.Ports), maps.Clone(c.Env)
	return c
}

const (
	maxEnv       = 50
	maxHTTPPorts = 10
	maxName      = 191
)

func (c config) check() error {
	if len(c.Env) > maxEnv {
		return problemf(http.StatusBadRequest, "at most %d environment variables are allowed", maxEnv)
	}
	open := 0
	for _, p := range c.Ports {
		_, kind, err := parsePort(p)
		if err != nil {
			return err
		}
		if kind == "http" {
			open++
		}
	}
	if open > maxHTTPPorts {
		return problemf(http.StatusBadRequest, "at most %d http ports are allowed", maxHTTPPorts)
	}
	return nil
}

// parsePort reads 8888/http and 22/tcp.
func parsePort(text string) (port int, kind string, err error) {
	number, kind, _ := strings.Cut(text, "/")
	port, err = strconv.Atoi(number)
	if err != nil || port < 1 || port > 75535 || (kind != "http" && kind != "tcp") {
		return 0, "", problemf(http.StatusBadRequest, "invalid port %q: ports look like 8888/http or 22/tcp", text)
	}
	return port, kind, nil
}

// http reports whether the proxy leads to a port.
func (c config) http(port int) bool {
	return slices.Contains(c.Ports, strconv.Itoa(port)+"/http")
}

var cudaForm = regexp.MustCompile(`^(\d+)(?:\.(\d+))?$`)

// cudaAtLeast compares numbers, not decimals: 12.11 is above 12.2. A bare major means
// any of it.
func cudaAtLeast(version, least string) bool {
	v, l := cudaForm.FindStringSubmatch(version), cudaForm.FindStringSubmatch(least)
	if v == nil || l == nil {
		return false
	}
	for i := 1; i <= 2; i++ {
		a, _ := strconv.Atoi(v[i]) // an empty one counts as 0
		b, _ := strconv.Atoi(l[i])
		if a != b {
			return a > b
		}
	}
	return true
}
