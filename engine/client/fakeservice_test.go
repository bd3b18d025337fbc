package client_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/internal/testkit"
)

// fakeService speaks the contract of docs/protocol.md for one service, with a few
// functions of its own, and cuts connections where a test wants it to.
type fakeService struct {
	endpoint string
	accepted atomic.Int64

	mu     sync.Mutex
	calls  map[string]*fakeCall
	ran    map[string]int // by call
	acked  []string
	heads  []protocol.FrameHeader
	cut    []int    // bytes that the next connections live for; -1 = for ever
	gone   bool     // there is no worker to connect to
	more   chan int // numbers of "more" frames
	serial sync.WaitGroup
}

type fakeEvent struct {
	head protocol.FrameHeader
	body []byte
}

type fakeCall struct {
	mu     sync.Mutex
	events []fakeEvent
	news   chan struct{} // closed when something has come
	stop   chan struct{}
	once   sync.Once

	detached atomic.Bool
}

func (c *fakeCall) add(h protocol.FrameHeader, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h.N = len(c.events) + 1
	c.events = append(c.events, fakeEvent{h, body})
	close(c.news)
	c.news = make(chan struct{})
}

func (c *fakeCall) cancel() { c.once.Do(func() { close(c.stop) }) }

// newFake serves on a Unix socket until the test ends.
func newFake(t testing.TB) *fakeService {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := &fakeService{endpoint: "unix:" + path, calls: map[string]*fakeCall{}, ran: map[string]int{}, more: make(chan int, 1000)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/services/tools/connect", s.connect)
	mux.HandleFunc("GET /v1/services/tools/calls/{id}", s.get)
	mux.HandleFunc("DELETE /v1/services/tools/calls/{id}", s.delete)
	srv := &http.Server{Handler: mux}
	go srv.Serve(&cutListener{l, s})
	t.Cleanup(func() {
		srv.Close()
		for _, c := range s.calls {
			c.cancel()
		}
		s.serial.Wait()
	})
	return s
}

func (s *fakeService) client(t *testing.T) *client.Client {
	t.Helper()
	c := testkit.Must(client.New(s.endpoint, "token"))(t)
	t.Cleanup(c.Close)
	return c
}

// cutListener gives connections that break after so many bytes.
type cutListener struct {
	net.Listener
	s *fakeService
}

func (l *cutListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.s.accepted.Add(1)
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	left := -1
	if len(l.s.cut) > 0 {
		left, l.s.cut = l.s.cut[0], l.s.cut[1:]
	}
	if left < 0 {
		return conn, nil
	}
	return &cutConn{Conn: conn, left: left}, nil
}

type cutConn struct {
	net.Conn
	mu   sync.Mutex
	left int
}

func (c *cutConn) spend(n int) (may int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	may = min(n, c.left)
	c.left -= may
	return may
}

func (c *cutConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if may := c.spend(n); may < n {
		c.Close()
		return may, io.ErrUnexpectedEOF
	}
	return n, err
}

func (c *cutConn) Write(p []byte) (int, error) {
	may := c.spend(len(p))
	n, err := c.Conn.Write(p[:may])
	if may < len(p) || err != nil {
		c.Close()
		return n, io.ErrClosedPipe
	}
	return n, nil
}

func refuse(w http.ResponseWriter, code protocol.Code, message string) {
	w.Header().Set("Seer", "1")
	w.WriteHeader(code.Status())
	json.NewEncoder(w).Encode(map[string]any{"error": protocol.Errorf(code, "%s", message)})
}

func (s *fakeService) connect(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	gone := s.gone
	s.mu.Unlock()
	if gone {
		refuse(w, protocol.Conflict, "the service has crashed")
		return
	}
	if r.Header.Get("Upgrade") != protocol.FrameProtocol {
		refuse(w, protocol.Unsupported, "another protocol")
		return
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", protocol.FrameProtocol)
	s.frames(conn, rw.Reader)
}

func (s *fakeService) frames(conn net.Conn, r *bufio.Reader) {
	var out sync.Mutex
	for {
		h, size, err := protocol.ReadFrameHeader(r)
		if err != nil {
			return
		}
		body := make([]byte, size)
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		s.mu.Lock()
		s.heads = append(s.heads, h)
		c := s.calls[h.ID]
		s.mu.Unlock()
		switch h.Kind {
		case protocol.FrameAck:
			s.mu.Lock()
			s.acked = append(s.acked, h.ID)
			s.mu.Unlock()
		case protocol.FrameCancel:
			if c != nil {
				c.cancel()
			}
		case protocol.FrameMore:
			s.more <- h.N
		case protocol.FrameAttach:
			if c == nil {
				out.Lock()
				protocol.WriteFrame(conn, protocol.FrameHeader{Kind: protocol.FrameError, ID: h.ID,
					Error: &protocol.CallError{Code: protocol.CallUnknown, Message: "no such call"}}, nil)
				out.Unlock()
				continue
			}
			if h.Detach {
				c.detached.Store(true)
			}
			go s.tell(c, h.ID, max(h.From, 1), conn, &out)
		case protocol.FrameCalls:
			list := []protocol.Call{}
			if c != nil {
				list = append(list, protocol.Call{ID: h.ID, State: protocol.CallRunning, Detached: c.detached.Load()})
			}
			text, _ := json.Marshal(list)
			out.Lock()
			protocol.WriteFrame(conn, protocol.FrameHeader{Kind: protocol.FrameCalls, ID: h.ID}, text)
			out.Unlock()
		case protocol.FrameCall:
			go s.tell(s.begin(h, body), h.ID, max(h.From, 1), conn, &out)
		}
	}
}

// begin runs a call unless it has been.
func (s *fakeService) begin(h protocol.FrameHeader, body []byte) *fakeCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.calls[h.ID]; c != nil {
		return c
	}
	c := &fakeCall{news: make(chan struct{}), stop: make(chan struct{})}
	c.detached.Store(h.Detach)
	s.calls[h.ID] = c
	s.ran[h.ID]++
	s.serial.Add(1)
	go func() {
		defer s.serial.Done()
		c.run(h, body)
	}()
	return c
}

// tell sends the events of a call until its last.
func (s *fakeService) tell(c *fakeCall, id string, from int, w io.Writer, out *sync.Mutex) error {
	for {
		c.mu.Lock()
		news, events := c.news, c.events
		c.mu.Unlock()
		for ; from <= len(events); from++ {
			e := events[from-1]
			e.head.ID = id
			out.Lock()
			err := protocol.WriteFrame(w, e.head, e.body)
			out.Unlock()
			if err != nil || e.head.Kind == protocol.FrameResult || e.head.Kind == protocol.FrameError {
				return err
			}
		}
		<-news
	}
}

func (c *fakeCall) run(h protocol.FrameHeader, body []byte) {
	var in struct {
		Args []json.RawMessage `json:"args"`
	}
	_ = json.Unmarshal(body, &in)
	number := 0
	if len(in.Args) > 0 {
		_ = json.Unmarshal(in.Args[0], &number)
	}
	switch h.Fn {
	case "echo":
		c.add(protocol.FrameHeader{Kind: protocol.FrameResult, Seconds: 0.5}, in.Args[0])
	case "talk":
		for i := range number {
			c.add(protocol.FrameHeader{Kind: protocol.FrameOutput, Stream: 1 + i%2}, fmt.Appendf(nil, "line %d\n", i))
		}
		c.add(protocol.FrameHeader{Kind: protocol.FrameResult}, []byte("null"))
	case "count":
		for i := range number {
			select {
			case <-c.stop:
				c.cancelled()
				return
			default:
				c.add(protocol.FrameHeader{Kind: protocol.FrameItem}, fmt.Appendf(nil, "%d", i))
			}
		}
		c.add(protocol.FrameHeader{Kind: protocol.FrameResult}, []byte("null"))
	case "big":
		c.add(protocol.FrameHeader{Kind: protocol.FrameResult}, []byte(`"`+strings.Repeat("x", number)+`"`))
	case "boom":
		c.add(protocol.FrameHeader{Kind: protocol.FrameError, Error: &protocol.CallError{Code: protocol.CallRaised, Type: "ValueError", Message: "no"}}, nil)
	case "sleep":
		select {
		case <-c.stop:
			c.cancelled()
		case <-time.After(time.Minute):
		}
	}
}

func (c *fakeCall) cancelled() {
	c.add(protocol.FrameHeader{Kind: protocol.FrameError, Error: &protocol.CallError{Code: protocol.CallCancelled, Message: "cancelled"}}, nil)
}

// find is the call of a request. It refuses an unknown one, which is nil.
func (s *fakeService) find(w http.ResponseWriter, r *http.Request) *fakeCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls[r.PathValue("id")]
	if c == nil {
		refuse(w, protocol.NotFound, "no such call")
	}
	return c
}

func (s *fakeService) get(w http.ResponseWriter, r *http.Request) {
	c := s.find(w, r)
	if c == nil {
		return
	}
	from := 1
	fmt.Sscan(r.URL.Query().Get("from"), &from)
	w.Header().Set("Seer", "1")
	s.tell(c, r.PathValue("id"), from, w, &sync.Mutex{})
}

func (s *fakeService) delete(w http.ResponseWriter, r *http.Request) {
	c := s.find(w, r)
	if c == nil {
		return
	}
	c.cancel()
	fmt.Fprintln(w, "{}")
}

// runs is how often any call has run.
func (s *fakeService) runs() (most, all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.ran {
		most, all = max(most, n), all+n
	}
	return most, all
}
