package runtime

import (
	"context"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

// savedService is what a later runtime needs to go on with a service.
type savedService struct {
	Name     string           `json:"name"`
	Last     int              `json:"last"`
	Tokens   []protocol.Token `json:"tokens,omitempty"`
	Current  *savedGeneration `json:"current,omitempty"`
	Loading  *savedGeneration `json:"loading,omitempty"` // is loaded anew
	Retiring []*savedWorker   `json:"retiring,omitempty"`
	Leaving  []leavingCall    `json:"leaving,omitempty"`
}

// leavingCall is a call that a worker of a replaced generation had.
type leavingCall struct {
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
func (v *service) saved() *savedService {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.deleted || v.current == nil && v.loading == nil {
		return nil
	}
	s := &savedService{Name: v.name, Last: v.last, Tokens: v.tokens}
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
	for id, w := range v.leaving {
		s.Leaving = append(s.Leaving, leavingCall{ID: id, Worker: w.id})
	}
	return s
}

func (g *generation) saved() *savedGeneration {
	return &savedGeneration{Number: g.number, Spec: g.spec, Interface: g.iface, Restarts: g.restarts, Crashes: g.crashes,
		Started: g.started, InPlace: g.inPlace}
}

// resumeServices goes on with the services of an earlier runtime: workers that live
// are taken over, what is not there is loaded again.
func (s *Server) resumeServices(saved []*savedService) error {
	known := map[string]bool{}
	for _, sv := range saved {
		for _, w := range sv.workers() {
			known[w.ID] = true
		}
	}
	s.endUnknown(known)
	for _, sv := range saved {
		v, err := s.services.obtain(s, sv.Name)
		if err != nil {
			return err
		}
		v.resume(sv)
	}
	return nil
}

func (sv *savedService) workers() []*savedWorker {
	list := append([]*savedWorker(nil), sv.Retiring...)
	if sv.Current != nil && sv.Current.Worker != nil {
		list = append(list, sv.Current.Worker)
	}
	return list
}

func (v *service) resume(saved *savedService) {
	v.mu.Lock()
	v.last, v.tokens = saved.Last, saved.Tokens
	old := map[string]*worker{}
	for _, r := range saved.Retiring {
		w := v.server.adopt(v, r)
		old[r.ID] = w
		if !w.gone() {
			v.retiring = append(v.retiring, w)
			go func() {
				v.remember(context.Background(), w)
				v.retire(w)
			}()
		}
	}
	for _, c := range saved.Leaving {
		w := old[c.Worker]
		if w == nil {
			w = v.server.newWorker(v, c.Worker)
			close(w.exited)
			old[c.Worker] = w
		}
		v.note(c.ID, w)
	}
	if saved.Current != nil {
		v.goOn(saved.Current)
	}
	v.mu.Unlock()
	if l := saved.Loading; l != nil {
		v.serve(l.Spec, l.Number)
	}
}

// goOn takes up the present generation. A worker that has died meanwhile, or died
// with the machine's knowledge of it, counts as one that has crashed.
func (v *service) goOn(saved *savedGeneration) {
	g := v.newGeneration(saved.Spec, saved.Number)
	g.iface, g.restarts, g.crashes, g.started, g.inPlace = saved.Interface, saved.Restarts, saved.Crashes, saved.Started, saved.InPlace
	g.state = protocol.ServiceReady
	w := &savedWorker{ID: "service/" + v.name + "/gone"}
	if saved.Worker != nil {
		w = saved.Worker
	}
	g.worker = v.server.adopt(v, w)
	v.current, v.recent = g, append(v.recent, g)
	if g.worker.gone() {
		g.state, g.restarting = protocol.ServiceCrashed, true
	} else {
		g.worker.stay() // it may have been told to leave for one that the dead runtime did not get to note
	}
	v.notify()
	go v.watch(g, g.worker)
}
