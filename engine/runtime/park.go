package runtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/parking"
)

var (
	parkID  = regexp.MustCompile(`^[0-9a-f]{32}$`)
	parkKey = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// settleTime is how long nothing else moves after the socket was made again, so that
// whoever looks for it can tell it from one that somebody else has made.
const settleTime = 3 * time.Second

// orphanCopy is how long a copy waits to be told who it is.
const orphanCopy = time.Minute

// parkTick is how often a parked machine looks for what it is told.
const parkTick = 10 * time.Millisecond

// oneParking is a machine whose processes stand still to be saved.
type oneParking struct {
	s         *Server
	id, key   string
	copy      bool
	proven    chan struct{} // closed when a copy has proved itself
	proof     sync.Once
	dir, name string // of the socket
	stopped   []int
	thawed    <-chan struct{}
	since     time.Time
	until     time.Time
	asker     asker
}

// asker is whoever had the machine parked, seen by a file that it touches. Looks are
// counted, not time: that goes on while the machine itself does not run.
type asker struct {
	file    string
	touched time.Time
	looks   int // since it was touched
	limit   int // 0 = it is not looked for
}

// gone is asked at every tick.
func (a *asker) gone() bool {
	if a.limit == 0 {
		return false
	}
	a.looks++
	if info, err := os.Lstat(a.file); err == nil && !info.ModTime().Equal(a.touched) {
		a.touched, a.looks = info.ModTime(), 0
	}
	return a.looks > a.limit
}

// postPark has the machine stand still, answers, and then lets go of everything that
// leads out of the machine.
func (s *Server) postPark(w http.ResponseWriter, r *http.Request) error {
	var req protocol.ParkRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	if !parkID.MatchString(req.ID) {
		return protocol.Errorf(protocol.Invalid, "the id of a parking is 32 hex digits")
	}
	if !parkKey.MatchString(req.Key) {
		return protocol.Errorf(protocol.Invalid, "the key of a parking is 64 hex digits")
	}
	path, ok := strings.CutPrefix(s.options.Listen, "unix:")
	if !ok {
		return protocol.Errorf(protocol.Unsupported, "this machine does not listen on a Unix socket, so it cannot be parked")
	}
	p := &oneParking{s: s, id: req.ID, key: req.Key, proven: make(chan struct{}), dir: filepath.Dir(path), name: filepath.Base(path)}
	var err error
	if p.thawed, err = s.freezer.begin(r.Context()); err != nil {
		return err
	}
	s.persist()
	p.since = time.Now()
	s.parked.Store(true) // no lease ends meanwhile: nobody could extend it
	var answer protocol.Frozen
	if p.stopped, answer, err = s.stopAll(); err != nil {
		p.goOn()
		return err
	}
	if n := answer.NotFrozen; len(n) > 0 {
		p.goOn()
		return protocol.Errorf(protocol.Conflict, "process %d (%s) does not stand still: %s; end it", n[0].Pid, n[0].Name, n[0].Why)
	}
	s.syncDisks()
	p.until = time.Now().Add(min(orDefault(seconds(req.Seconds), protocol.ParkLimit), protocol.ParkLimit))
	p.asker = asker{file: p.file("here"), limit: int(seconds(req.AskerSeconds) / parkTick)}
	w.Header().Set("Connection", "close")
	err = writeJSON(w, http.StatusOK, answer)
	_ = http.NewResponseController(w).Flush()
	go p.stay()
	return err
}

// goOn has the processes go on.
func (p *oneParking) goOn() {
	p.s.freezer.end()
	if p.s.parked.Load() {
		now := time.Now()
		p.s.lease.extend(now, now.Sub(p.since))
		p.s.parked.Store(false) // not before: the lease is judged from here on
	}
	continueInOrder(p.stopped)
	p.s.freezer.release()
	p.s.persist()
}

// stay is the whole time of standing still.
func (p *oneParking) stay() {
	defer p.goOn()
	log := p.s.options.Logger
	if !p.expected() {
		log.Warn("whoever had the machine parked is gone; it goes on")
		return
	}
	if err := p.leave(); err != nil {
		log.Error("the machine cannot be parked", "error", err)
	}
	renewal, err := p.wait()
	if err != nil {
		p.s.End(err.Error())
		return
	}
	if renewal.Copy {
		p.since, p.copy = time.Now(), true // its lease begins now
	}
	if err := p.come(renewal); err != nil {
		p.s.End("the machine cannot listen again after it was parked: " + err.Error())
		return
	}
	if renewal.Copy {
		p.awaitProof()
		return
	}
	if renewal.Thaw {
		p.until, p.asker.limit = time.Now(), 0
	}
	if p.settle() {
		log.Warn("nobody had the parked machine go on; it does so by itself")
	}
}

// expected waits until whoever comes to the machine is received elsewhere: what still
// waited to be accepted when the socket is closed would never have an answer.
func (p *oneParking) expected() bool {
	if p.asker.limit == 0 {
		return true
	}
	tick := time.NewTicker(parkTick)
	defer tick.Stop()
	for {
		select {
		case <-p.thawed:
			return false
		case <-p.s.over:
			return false
		case <-tick.C:
		}
		if gone := p.asker.gone(); gone || !p.asker.touched.IsZero() {
			time.Sleep(parkTick) // until those that came before are accepted
			return !gone
		}
	}
}

// proofPatience is how long a copy stands still until it is asked to prove itself.
const proofPatience = 30 * time.Second

// awaitProof keeps a copy still until whoever made it knows its socket.
func (p *oneParking) awaitProof() {
	limit := time.NewTimer(proofPatience)
	defer limit.Stop()
	select {
	case <-p.proven:
	case <-limit.C:
		p.s.options.Logger.Warn("nobody asked the copy to prove itself; it goes on")
	case <-p.s.over:
	}
}

// postProof proves that this is the runtime that was parked. A copy does so only while
// nothing else moves: later, something in it could be between it and whoever asks.
func (s *Server) postProof(w http.ResponseWriter, r *http.Request) error {
	if s.patience > 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.patience))
	}
	r.Body = http.MaxBytesReader(w, r.Body, 1<<10)
	w.Header().Set("Connection", "close")
	var q parking.Question
	if err := readJSON(r, &q); err != nil {
		return err
	}
	p := s.prover.Load()
	if p == nil || p.copy && !s.still() {
		return protocol.Errorf(protocol.Conflict, "the machine was not parked, or something moves in it")
	}
	err := writeJSON(w, http.StatusOK, parking.Answer(p.key, p.id, q))
	_ = http.NewResponseController(w).Flush()
	p.proof.Do(func() { close(p.proven) })
	return err
}

// settle waits, with the socket there again, until the machine may move. It reports
// whether nobody has said so.
func (p *oneParking) settle() (alone bool) {
	limit := time.NewTimer(time.Until(p.until) + settleTime)
	defer limit.Stop()
	tick := time.NewTicker(parkTick)
	defer tick.Stop()
	for {
		select {
		case <-p.thawed:
			return false
		case <-p.s.over:
			return false
		case <-limit.C:
			return true
		case <-tick.C:
			if p.asker.gone() {
				_ = os.Remove(p.asker.file)
				p.asker.limit = 0
				limit.Reset(min(settleTime, max(0, time.Until(p.until)+settleTime)))
			}
		}
	}
}

func (p *oneParking) file(kind string) string { return filepath.Join(p.dir, kind+"-"+p.id) }

// leave closes the sockets that lead out, and says so by a file.
func (p *oneParking) leave() error {
	p.s.door.close()
	p.s.closeGates()
	if g := p.s.options.Gate; g != nil { // what is open under a name has to have it when it goes on
		for _, port := range g.Ports {
			_ = os.Remove(filepath.Join(g.Dir, strconv.Itoa(port)))
		}
	}
	if err := tellLoader(p.s.options.Loader, []byte(`{"t":"park"}`), nil); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(p.dir, p.name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.WriteFile(p.file("park"), nil, 0o600)
}

// wait returns what is said in the folder of the socket. Whoever does not find there what
// was left has become another machine: its folder is another one.
func (p *oneParking) wait() (protocol.Renewal, error) {
	tick := time.NewTicker(parkTick)
	defer tick.Stop()
	var alone time.Time
	for {
		data, err := os.ReadFile(p.file("go"))
		if renewal, ok := parking.Open(p.key, p.id, data); err == nil && ok {
			var r protocol.Renewal
			if err := json.Unmarshal(renewal, &r); err != nil {
				return r, fmt.Errorf("what was said to the parked machine is not valid: %w", err)
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
		case errors.Is(err, os.ErrNotExist) && now.Sub(alone) > orphanCopy:
			return protocol.Renewal{}, errors.New("the machine is a copy, and nobody says of what sandbox")
		case err == nil && (p.asker.gone() || now.After(p.until.Round(0))):
			_ = os.Remove(p.file("park"))
			_ = os.Remove(p.asker.file)
			return protocol.Renewal{Thaw: true}, nil // who parked it is gone
		}
		select {
		case <-tick.C:
		case <-p.s.over:
			return protocol.Renewal{}, errors.New("the machine ends")
		}
	}
}

// come makes the sockets again, and the machine another one if that is what it became.
func (p *oneParking) come(r protocol.Renewal) error {
	if r.Copy {
		p.s.renew(r)
	}
	if err := p.s.openGates(); err != nil {
		return err
	}
	l, err := listenUnix(p.dir, p.name)
	if err != nil {
		return err
	}
	said := map[string]any{"t": "listen"}
	p.s.lease.tell(time.Time{}) // the loader has forgotten it
	if r.Copy {
		said["end_unix"], said["admin_sha256"] = r.EndUnix, r.AdminSHA256
	}
	message, err := json.Marshal(said)
	if err == nil {
		err = tellLoader(p.s.options.Loader, message, l)
	}
	if err != nil {
		l.Close()
		return err
	}
	p.s.prover.Store(p)
	p.s.door.serve(l)
	return nil
}
