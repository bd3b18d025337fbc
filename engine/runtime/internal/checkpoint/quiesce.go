package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/parking"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
	"github.com/seer-engine/seer/engine/runtime/internal/loaderconn"
	"github.com/seer-engine/seer/internal/lazyregexp"
)

var (
	validID  = lazyregexp.New(`^[0-9a-f]{32}$`)
	validKey = lazyregexp.New(`^[0-9a-f]{64}$`)
)

// settleTime is how long nothing else moves after the socket was made again, so that
// a client can tell it from a socket that another program has made.
const settleTime = 3 * time.Second

// unclaimedCopy is how long a copy waits to be told who it is.
const unclaimedCopy = time.Minute

// quiesceTick is how often a parked machine looks for what it is told.
const quiesceTick = 10 * time.Millisecond

// quiescence is a machine whose processes stand still to be saved.
type quiescence struct {
	*standstill
	thawed    <-chan struct{}
	since     time.Time
	until     time.Time
	requester requester
	back      *gpusBack
}

// requester is the client that parked the machine, seen by a file that it touches. Looks are
// counted, not time: time passes also while the machine itself does not run.
type requester struct {
	file    string
	touched time.Time
	looks   int // since it was touched
	limit   int // 0 = it is not looked for
}

// gone is asked at every tick.
func (a *requester) gone() bool {
	if a.limit == 0 {
		return false
	}
	a.looks++
	if info, err := os.Lstat(a.file); err == nil && !info.ModTime().Equal(a.touched) {
		a.touched, a.looks = info.ModTime(), 0
	}
	return a.looks > a.limit
}

// PostPark has the machine stand still, answers, and then lets go of everything that
// leads out of the machine.
func (c *Handler) PostPark(w http.ResponseWriter, r *http.Request) error {
	var req protocol.ParkRequest
	if err := httpx.ReadJSON(r, &req); err != nil {
		return err
	}
	if !validID().MatchString(req.ID) {
		return protocol.Errorf(protocol.Invalid, "the id of a parking is 32 hex digits")
	}
	if !validKey().MatchString(req.Key) {
		return protocol.Errorf(protocol.Invalid, "the key of a parking is 64 hex digits")
	}
	path, ok := strings.CutPrefix(c.deps.Listen, "unix:")
	if !ok {
		return protocol.Errorf(protocol.Unsupported, "this machine does not listen on a Unix socket, so it cannot be parked")
	}
	p := &quiescence{standstill: newStandstill(c, req.ID, req.Key, path), back: &gpusBack{done: make(chan struct{})}}
	var err error
	if p.thawed, err = c.freezer.begin(r.Context()); err != nil {
		return err
	}
	c.deps.Persist()
	p.since = time.Now()
	c.quiesced.Store(true) // no lease ends meanwhile: nobody could extend it
	c.back.Store(p.back)
	answer, err := p.beginWithoutGPUs(r.Context())
	if err != nil {
		p.resume()
		if failure := p.back.wait(context.Background()); failure != nil {
			err = protocol.Errorf(protocol.Conflict, "%v; %v", err, failure)
		}
		return err
	}
	c.syncDisks()
	limit := protocol.ParkLimit
	if req.AskerSeconds > 0 {
		limit = protocol.AskedParkLimit
	}
	if wanted := httpx.Seconds(req.Seconds); wanted > 0 {
		limit = min(wanted, limit)
	}
	p.until = time.Now().Add(limit)
	p.requester = requester{file: p.file("here"), limit: int(httpx.Seconds(req.AskerSeconds) / quiesceTick)}
	w.Header().Set("Connection", "close")
	err = httpx.WriteJSON(w, http.StatusOK, answer)
	_ = http.NewResponseController(w).Flush()
	go p.run()
	return err
}

// resume has the processes go on.
func (p *quiescence) resume() {
	p.c.freezer.end()
	if p.c.quiesced.Load() {
		now := time.Now()
		p.c.deps.Lease.Extend(now, now.Sub(p.since))
		p.c.quiesced.Store(false) // not before: the lease is judged from here on
	}
	p.end()
	p.putBack()
	p.c.freezer.release()
	p.c.deps.Persist()
}

// run is the whole time of standing still.
func (p *quiescence) run() {
	defer p.resume()
	log := p.c.deps.Log
	if !p.awaitRequester() {
		log.Warn("the client that parked the machine is gone; the machine continues")
		return
	}
	if err := p.closeSockets(); err != nil {
		log.Error("the machine cannot be parked and continues", "error", err)
		if err := p.reopenSockets(protocol.Renewal{}); err != nil {
			p.c.deps.End("the machine cannot listen again after it could not be parked: " + err.Error())
		}
		return // it would take itself for a copy: nothing says that it is the original
	}
	renewal, err := p.awaitRenewal()
	if err != nil {
		p.c.deps.End(err.Error())
		return
	}
	if renewal.Copy {
		p.since = time.Now() // its lease begins now
		p.back.copy.Store(true)
	}
	if err := p.reopenSockets(renewal); err != nil {
		p.c.deps.End("the machine cannot listen again after it was parked: " + err.Error())
		return
	}
	if renewal.Copy {
		p.awaitProof()
		return
	}
	if renewal.Thaw {
		p.until, p.requester.limit = time.Now(), 0
	}
	if p.awaitThaw() {
		log.Warn("no client resumed the parked machine; it continues by itself")
	}
}

// awaitRequester waits until new connections to the machine go elsewhere: one that still waits
// to be accepted when the socket is closed would never get an answer.
func (p *quiescence) awaitRequester() bool {
	if p.requester.limit == 0 {
		return true
	}
	for range p.ticks {
		if gone := p.requester.gone(); gone || !p.requester.touched.IsZero() {
			time.Sleep(quiesceTick) // until those that came before are accepted
			return !gone
		}
	}
	return false
}

// awaitThaw waits, with the socket there again, until the machine may move. It reports
// whether nobody has said so.
func (p *quiescence) awaitThaw() (alone bool) {
	limit := time.Now().Add(time.Until(p.until) + settleTime)
	for range p.ticks {
		if time.Now().After(limit) {
			return true
		}
		if p.requester.gone() {
			_ = os.Remove(p.requester.file)
			p.requester.limit = 0
			limit = time.Now().Add(min(settleTime, time.Until(p.until)+settleTime))
		}
	}
	return false
}

// ticks yields at each tick, until the machine is thawed or ends.
func (p *quiescence) ticks(yield func() bool) {
	tick := time.NewTicker(quiesceTick)
	defer tick.Stop()
	for {
		select {
		case <-p.thawed:
			return
		case <-p.c.deps.Over:
			return
		case <-tick.C:
			if !yield() {
				return
			}
		}
	}
}

func (p *quiescence) file(kind string) string { return filepath.Join(p.dir, kind+"-"+p.id) }

// closeSockets closes the sockets that lead out, and says so by a file.
func (p *quiescence) closeSockets() error {
	p.c.deps.Listener.Close()
	p.c.deps.Forwarder.Close()
	p.c.deps.Forwarder.RemoveSockets() // what is open under a name has to have it when it goes on
	if err := loaderconn.Ask(p.c.deps.Loader, map[string]any{"t": "park"}, nil); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(p.dir, p.name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.WriteFile(p.file("park"), nil, 0o600)
}

// awaitRenewal returns the renewal from the folder of the socket. A machine that does not find
// there what it left has become another machine, whose folder is another one.
func (p *quiescence) awaitRenewal() (protocol.Renewal, error) {
	tick := time.NewTicker(quiesceTick)
	defer tick.Stop()
	var alone time.Time
	for {
		data, err := os.ReadFile(p.file("go"))
		if renewal, ok := parking.Open(p.key, p.id, data); err == nil && ok {
			var r protocol.Renewal
			if err := json.Unmarshal(renewal, &r); err != nil {
				return r, fmt.Errorf("the renewal of the parked machine is not valid: %w", err)
			}
			_ = os.Remove(p.file("go"))
			_ = os.Remove(p.file("park"))
			return r, nil
		}
		_, err = os.Lstat(p.file("park"))
		now := time.Now().Round(0) // by the clock of the day: the other one may have jumped
		switch {
		case errors.Is(err, os.ErrNotExist) && alone.IsZero():
			alone = now
		case errors.Is(err, os.ErrNotExist) && now.Sub(alone) > unclaimedCopy:
			return protocol.Renewal{}, errors.New("the machine is a copy, and the renewal names no sandbox")
		case err == nil && (p.requester.gone() || now.After(p.until.Round(0))):
			_ = os.Remove(p.file("park"))
			_ = os.Remove(p.requester.file)
			return protocol.Renewal{Thaw: true}, nil // who parked it is gone
		}
		select {
		case <-tick.C:
		case <-p.c.deps.Over:
			return protocol.Renewal{}, errors.New("the machine ends")
		}
	}
}

// reopenSockets makes the sockets again, and the machine another one if that is what it became.
func (p *quiescence) reopenSockets(r protocol.Renewal) error {
	if r.Copy {
		p.c.deps.Renew(r)
	}
	if err := p.c.deps.Forwarder.Open(); err != nil {
		return err
	}
	said := map[string]any{"t": "listen"}
	if r.Copy {
		said["end_unix"], said["admin_sha256"] = r.EndUnix, r.AdminSHA256
	}
	return p.listen(said)
}
