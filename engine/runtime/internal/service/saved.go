package service

import (
	"context"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

// Saved is what a later runtime needs to go on with a service.
type Saved struct {
	Name     string           `json:"name"`
	Last     int              `json:"last"`
	Tokens   []protocol.Token `json:"tokens,omitempty"`
	Current  *savedGeneration `json:"current,omitempty"`
	Loading  *savedGeneration `json:"loading,omitempty"` // is loaded anew
	Retiring []*savedWorker   `json:"retiring,omitempty"`
	Draining []drainingCall   `json:"leaving,omitempty"`
}

// drainingCall is a call that a worker of a replaced generation had.
type drainingCall struct {
	ID     string `json:"id"`
	Worker string `json:"worker"`
}

type savedGeneration struct {
	Number    int                  `json:"number"`
	Spec      protocol.ServiceSpec `json:"spec"`
	Interface *sdk.Interface       `json:"interface,omitempty"`
	Restarts  int                  `json:"restarts,omitempty"`
	Crashes   []time.Time          `json:"crashes,omitempty"`
	Started   time.Time            `json:"started"`
	InPlace   *protocol.InPlace    `json:"in_place,omitempty"`
	Worker    *savedWorker         `json:"worker,omitempty"`
}

// saved is what is to be remembered of the service; nil where there is nothing.
func (v *Service) saved() *Saved {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.deleted || v.current == nil && v.loading == nil {
		return nil
	}
	s := &Saved{Name: v.Name, Last: v.last, Tokens: v.tokens}
	if g := v.current; g != nil {
		s.Current = g.saved()
		s.Current.Worker = g.worker.saved(g.number)
	}
	if g := v.loading; g != nil {
		s.Loading = g.saved()
	}
	for _, w := range v.retiring {
		if saved := w.saved(0); saved != nil {
			s.Retiring = append(s.Retiring, saved)
		}
	}
	for id, w := range v.draining {
		s.Draining = append(s.Draining, drainingCall{ID: id, Worker: w.id})
	}
	return s
}

func (g *generation) saved() *savedGeneration {
	return &savedGeneration{Number: g.number, Spec: g.spec, Interface: g.iface, Restarts: g.restarts, Crashes: g.crashes,
		Started: g.started, InPlace: g.inPlace}
}

// Restore goes on with the services of an earlier runtime: workers that live
// are taken over, what is not there is loaded again.
func (t *Manager) Restore(saved []*Saved) error {
	known := map[string]bool{}
	for _, sv := range saved {
		for _, w := range sv.workers() {
			known[w.ID] = true
		}
	}
	t.endUnknown(known)
	for _, sv := range saved {
		v, err := t.Obtain(sv.Name)
		if err != nil {
			return err
		}
		v.resume(sv)
	}
	return nil
}

func (sv *Saved) workers() []*savedWorker {
	list := append([]*savedWorker(nil), sv.Retiring...)
	if sv.Current != nil && sv.Current.Worker != nil {
		list = append(list, sv.Current.Worker)
	}
	return list
}

func (v *Service) resume(saved *Saved) {
	v.mu.Lock()
	v.last, v.tokens = saved.Last, saved.Tokens
	old := map[string]*Worker{}
	for _, r := range saved.Retiring {
		w := v.manager.adopt(v, r)
		old[r.ID] = w
		if !w.Gone() {
			v.retiring = append(v.retiring, w)
			go func() {
				v.drainWorker(context.Background(), w)
				v.retire(w)
			}()
		}
	}
	for _, c := range saved.Draining {
		w := old[c.Worker]
		if w == nil {
			w = v.manager.newWorker(v, c.Worker)
			close(w.Exited)
			old[c.Worker] = w
		}
		v.draining = v.draining.with(c.ID, w)
	}
	if saved.Current != nil {
		v.goOn(saved.Current)
	}
	v.mu.Unlock()
	if l := saved.Loading; l != nil {
		v.Serve(l.Spec, l.Number)
	}
}

// goOn takes up the present generation. A worker that has died meanwhile, or died
// with the machine's knowledge of it, counts as one that has crashed.
func (v *Service) goOn(saved *savedGeneration) {
	g := newGeneration(saved.Spec, saved.Number)
	g.iface, g.restarts, g.crashes, g.started, g.inPlace = saved.Interface, saved.Restarts, saved.Crashes, saved.Started, saved.InPlace
	g.state = protocol.ServiceReady
	w := &savedWorker{ID: "service/" + v.Name + "/gone"}
	if saved.Worker != nil {
		w = saved.Worker
	}
	g.worker = v.manager.adopt(v, w)
	v.current, v.recent = g, append(v.recent, g)
	if g.worker.Gone() {
		g.state, g.restarting = protocol.ServiceCrashed, true
	} else {
		g.worker.undrain() // it may have been told to leave for one that the dead runtime did not get to note
	}
	v.notify()
	go v.watch(g, g.worker)
}

// renew gives the service another token, takes away all others, and has its workers
// begin anew.
func (v *Service) renew(hash string) {
	v.mu.Lock()
	for _, g := range append([]*generation{v.current, v.loading}, v.recent...) {
		if g != nil {
			g.spec.TokenSHA256 = hash // empty: nobody has such a token
		}
	}
	v.tokens = nil
	v.draining, v.dead = nil, nil
	v.mu.Unlock()
	v.tellTokens()
	for _, w := range v.Workers() {
		if err := w.send(controlLine{Kind: "renew"}, nil); err != nil && !w.Gone() {
			v.manager.deps.Log.Error("a worker was not told that it is a copy", "service", v.Name, "error", err)
		}
	}
}
