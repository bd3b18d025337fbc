package sdktest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/seer-engine/seer/sdk/sdktest"
)

const cloudKey = "Bearer key-4711-very-secret"

// cloud is a small backend: a simulator as an author would write one.
type cloud struct {
	flaws flaws

	mu       sync.Mutex
	machines []*machine
	soldOut  bool
	copies   int
	gpuOnly  bool
	page     int // how many machines an answer has; 0 = all
}

type machine struct {
	ID      string            `json:"id"`
	Type    string            `json:"type"`
	Command []string          `json:"command"`
	Env     map[string]string `json:"env"`
	Port    int               `json:"port"`
	Tags    map[string]string `json:"tags"`
	State   string            `json:"state"`
	URL     string            `json:"url"`
	Price   float64           `json:"price"`
}

type kind struct {
	ID     string  `json:"id"`
	GPU    string  `json:"gpu"`
	Count  int     `json:"count"`
	Memory float64 `json:"memory"`
	CPU    float64 `json:"cpu"`
	Region string  `json:"region"`
	Price  float64 `json:"price"`
}

func kinds() []kind {
	return []kind{
		{"h100x2", "NVIDIA H100 80GB HBM3", 2, 200, 32, "eu", 6}, {"small", "", 0, 4, 2, "eu", 0.1},
		{"l4", "NVIDIA L4", 1, 16, 8, "us", 0.8}, {"large", "", 0, 64, 16, "us", 1},
	}
}

func (c *cloud) kinds() []kind {
	return slices.DeleteFunc(kinds(), func(k kind) bool { return c.gpuOnly && k.GPU == "" })
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Header.Get("Authorization") != cloudKey {
		c.refuse(w, 401, "wrong key")
		return
	}
	id := strings.TrimPrefix(r.URL.EscapedPath(), "/v1/machines/")
	switch route := r.Method + " " + r.URL.Path; {
	case route == "GET /v1/prices":
		c.give(w, map[string]any{"types": c.kinds()})
	case route == "GET /v1/machines":
		c.list(w, r.URL.Query())
	case route == "POST /v1/machines":
		c.rent(w, r)
	case r.Method == "POST" && strings.HasSuffix(id, "/copy"):
		c.copy(w, strings.TrimSuffix(id, "/copy"), r.URL.Query().Get("key"))
	case r.Method == "DELETE":
		c.end(w, id)
	default:
		c.refuse(w, 404, "no such path")
	}
}

func (c *cloud) give(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (c *cloud) refuse(w http.ResponseWriter, status int, text string) {
	w.WriteHeader(status)
	c.give(w, map[string]string{"error": text})
}

func (c *cloud) list(w http.ResponseWriter, q url.Values) {
	out, owner, ids := []*machine{}, q.Get("owner"), q["id"]
	for _, m := range c.machines {
		if m.State == "booting" { // a machine is up when somebody has looked at it
			defer func() { m.State = "up" }()
		}
		mine := owner == "" || m.Tags["owner"] == owner || c.flaws.has("prefix search") && strings.HasPrefix(m.Tags["owner"], owner)
		if mine && (ids == nil || slices.Contains(ids, m.ID)) && m.ID > q.Get("after") && (c.page == 0 || m.State != "ended") {
			out = append(out, m)
		}
	}
	next := ""
	if c.page > 0 && len(out) > c.page {
		out = out[:c.page]
		next = out[c.page-1].ID
	}
	c.give(w, map[string]any{"machines": out, "next": next})
}

func (c *cloud) rent(w http.ResponseWriter, r *http.Request) {
	var m machine
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		c.refuse(w, 400, err.Error())
		return
	}
	for _, have := range c.machines {
		if key := m.Tags["unique"]; key != "" && have.Tags["unique"] == key {
			c.give(w, have)
			return
		}
	}
	if c.soldOut {
		c.refuse(w, 422, "sold out")
		return
	}
	at := slices.IndexFunc(c.kinds(), func(k kind) bool { return k.ID == m.Type })
	if at < 0 {
		c.refuse(w, 400, "no such type")
		return
	}
	m.Price = c.kinds()[at].Price
	m.ID, m.State = fmt.Sprintf("m%06d", len(c.machines)+1), "booting"
	m.URL = "https://" + m.ID + ".cloud.example"
	c.machines = append(c.machines, &m)
	c.give(w, m)
}

func (c *cloud) end(w http.ResponseWriter, id string) {
	for _, m := range c.machines {
		if m.ID == id || c.flaws.has("ends by prefix") && strings.HasPrefix(m.ID, id) {
			m.State = "ended"
			w.WriteHeader(204)
			return
		}
	}
	c.refuse(w, 404, "no such machine")
}

func (c *cloud) copy(w http.ResponseWriter, id, key string) {
	if !slices.ContainsFunc(c.machines, func(m *machine) bool { return m.ID == id }) {
		c.refuse(w, 404, "no such machine")
		return
	}
	c.copies++
	image := "copy-" + key
	if c.flaws.has("copies twice") {
		image = fmt.Sprintf("copy-%d", c.copies)
	}
	c.give(w, map[string]string{"image": image})
}

// Machines is for the kit.
func (c *cloud) Machines() []sdktest.Machine {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []sdktest.Machine
	for _, m := range c.machines {
		out = append(out, sdktest.Machine{Handle: m.ID, Command: m.Command, Env: m.Env, Port: m.Port, Offer: m.Type, Live: m.State != "ended"})
	}
	return out
}

// SoldOut is for the kit.
func (c *cloud) SoldOut() (restore func()) {
	set := func(v bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.soldOut = v
	}
	set(true)
	return func() { set(false) }
}
