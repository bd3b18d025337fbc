package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/seer-engine/seer/engine/enginetest/plugintest"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/gpu"
)

// hosts are hosts of the user's, on each of which Seer's program answers as a provider. It is a
// simulator for the commands of plugins.
type hosts struct {
	mu       sync.Mutex
	machines map[string]*hosted // by host and handle
}

// hosted is a machine on a host.
type hosted struct {
	host  string
	spec  sdk.MachineSpec
	looks int // that have found it waiting
}

// waits is how often a new machine is found waiting.
const waits = 2

// newHosts makes hosts that answer at an address.
func newHosts(addr string) (cloud, error) {
	if addr == "" {
		return cloud{}, fmt.Errorf("hosts are only for seer plugin test, which names an address")
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return cloud{}, err
	}
	h := &hosts{machines: map[string]*hosted{}}
	server := &http.Server{Handler: h}
	go func() { _ = server.Serve(listener) }() // until it is closed
	return cloud{nil, func() int { return len(h.machines) }, func() { _ = server.Close() }}, nil
}

// ServeHTTP runs one command.
func (h *hosts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var c plugintest.Command
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var result plugintest.CommandResult
	if len(c.Argv) == 3 && c.Argv[0] == sdk.SSHProgram && c.Argv[1] == "provider" {
		result.Stdout = h.envelope(c)
	} else {
		result.Code, result.Stderr = 127, []byte("no such command\n")
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(result) // whoever asked may be gone
}

// envelope is the answer of the provider of a host.
func (h *hosts) envelope(c plugintest.Command) []byte {
	out, err := h.answer(c.Host, c.Argv[2], c.Stdin)
	e := sdk.Envelope{}
	if err == nil {
		e.OK, err = json.Marshal(out)
	}
	if err != nil {
		e = sdk.Envelope{Error: sdk.Errorf(sdk.CodeOf(err), "%v", err)}
	}
	text, _ := json.Marshal(e) // texts and numbers
	return text
}

func (h *hosts) answer(host, method string, raw []byte) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch method {
	case "describe":
		return sdk.ProviderInfo{Name: "local", Title: host, Isolations: []sdk.Isolation{{Name: "bubblewrap", Usable: true}}}, nil
	case "offers":
		return with(raw, offersOf)
	case "create":
		return with(raw, func(in sdk.CreateInput) (any, error) { return h.create(host, in) })
	case "observe":
		return with(raw, func(in sdk.ObserveInput) (any, error) { return h.observe(host, in.Handles), nil })
	case "list":
		return with(raw, func(in sdk.ListInput) (any, error) { return h.list(host, in.Owner), nil })
	case "terminate":
		return with(raw, func(in sdk.TerminateInput) (any, error) {
			delete(h.machines, host+"/"+in.Handle)
			return struct{}{}, nil
		})
	default:
		return nil, sdk.Errorf(sdk.Unsupported, "there is no method %s", method)
	}
}

// with reads the input of a method.
func with[In any](raw []byte, f func(In) (any, error)) (any, error) {
	var in In
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "the input: %v", err)
	}
	return f(in)
}

// offersOf are those of a host with 16 cores, 64 GiB and two L4.
func offersOf(q sdk.OfferQuery) (any, error) {
	offers := []sdk.Offer{}
	if q.CPU > 16 || q.MemoryGB > 64 || q.GPU != "" && (q.GPUCount > 2 || !gpu.Match(q.GPU, "L4")) {
		return offers, nil
	}
	o := sdk.Offer{ID: "local", Stock: sdk.StockHigh, MemoryGB: 64}
	if q.GPU != "" {
		o.GPU, o.GPUCount, o.GPUMemoryGB = "L4", max(1, q.GPUCount), 24
	}
	return append(offers, o), nil
}

// create makes a machine in two steps.
func (h *hosts) create(host string, in sdk.CreateInput) (sdk.CreateStep, error) {
	handle := "m-" + in.Spec.Key
	if in.Spec.Offer != "" && in.Spec.Offer != "local" {
		return sdk.CreateStep{}, sdk.Errorf(sdk.Invalid, "there is no offer %q", in.Spec.Offer)
	}
	if i := in.Spec.Isolation; i != "bubblewrap" {
		return sdk.CreateStep{}, sdk.Errorf(sdk.Unsupported, "there is no isolation %q here", i)
	}
	if h.machines[host+"/"+handle] == nil {
		if len(in.Cursor) == 0 {
			return sdk.CreateStep{Cursor: json.RawMessage(`{"step":1}`), Log: []string{"preparing"}}, nil
		}
		h.machines[host+"/"+handle] = &hosted{host: host, spec: in.Spec}
	}
	return sdk.CreateStep{Handle: handle}, nil
}

// observe finds a new machine waiting at first.
func (h *hosts) observe(host string, handles []string) []sdk.Observation {
	seen := []sdk.Observation{}
	for _, handle := range handles {
		m := h.machines[host+"/"+handle]
		switch {
		case m == nil:
			seen = append(seen, sdk.Observation{Handle: handle, State: sdk.Stopped})
		case m.looks < waits:
			m.looks++
			seen = append(seen, sdk.Observation{Handle: handle, State: sdk.Pending, Message: "waits for others"})
		default:
			seen = append(seen, sdk.Observation{Handle: handle, State: sdk.Running, Endpoints: []sdk.Endpoint{{Port: m.spec.Port, URL: "unix:/run/seer/" + handle}}})
		}
	}
	return seen
}

func (h *hosts) list(host, owner string) []sdk.Listed {
	all := []sdk.Listed{}
	for name, m := range h.machines {
		if m.host == host && m.spec.Owner == owner {
			all = append(all, sdk.Listed{Handle: strings.TrimPrefix(name, host+"/"), Key: m.spec.Key, Owner: owner, State: sdk.Running, EndUnix: m.spec.EndUnix})
		}
	}
	slices.SortFunc(all, func(a, b sdk.Listed) int { return strings.Compare(a.Handle, b.Handle) })
	return all
}
