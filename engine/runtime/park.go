package runtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/parking"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
	"github.com/seer-engine/seer/engine/runtime/internal/loaderconn"
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
	*stillness
	thawed <-chan struct{}
	since  time.Time
	until  time.Time
	asker  asker
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
	if err := httpx.ReadJSON(r, &req); err != nil {
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
	p := &oneParking{stillness: newStillness(s, req.ID, req.Key, path)}
	var err error
	if p.thawed, err = s.freezer.begin(r.Context()); err != nil {
		return err
	}
	s.persist()
	p.since = time.Now()
	s.parked.Store(true) // no lease ends meanwhile: nobody could extend it
	answer, err := p.begin()
	if err != nil {
		p.goOn()
		return err
	}
	s.syncDisks()
	p.until = time.Now().Add(min(orDefault(httpx.Seconds(req.Seconds), protocol.ParkLimit), protocol.ParkLimit))
	p.asker = asker{file: p.file("here"), limit: int(httpx.Seconds(req.AskerSeconds) / parkTick)}
	w.Header().Set("Connection", "close")
	err = httpx.WriteJSON(w, http.StatusOK, answer)
	_ = http.NewResponseController(w).Flush()
	go p.stay()
	return err
}

// goOn has the processes go on.
func (p *oneParking) goOn() {
	p.s.freezer.end()
	if p.s.parked.Load() {
		now := time.Now()
		p.s.lease.Extend(now, now.Sub(p.since))
		p.s.parked.Store(false) // not before: the lease is judged from here on
	}
	p.end()
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
		p.since = time.Now() // its lease begins now
	}
	if err := p.come(renewal); err != nil {
		p.s.End("the machine cannot listen again after it was parked: " + err.Error())
		return
	}
	if renewal.Copy {
		p.await()
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
	p.s.forwarder.Close()
	p.s.forwarder.RemoveSockets() // what is open under a name has to have it when it goes on
	if err := loaderconn.Ask(p.s.options.Loader, []byte(`{"t":"park"}`), nil); err != nil {
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
	if err := p.s.forwarder.Open(); err != nil {
		return err
	}
	said := map[string]any{"t": "listen"}
	if r.Copy {
		said["end_unix"], said["admin_sha256"] = r.EndUnix, r.AdminSHA256
	}
	return p.listen(said)
}
