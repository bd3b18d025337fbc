package run

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
)

// relay is a socket of this computer that leads to services elsewhere, so that an
// agent without a network reaches its services and nothing else. What it carries
// speaks to the runtime itself, with tokens of its own.
type relay struct {
	socket   string
	dir      string
	listener net.Listener
	dial     func(context.Context) (net.Conn, error)
	done     func()                  // once nobody dials any more
	watch    []func() io.WriteCloser // of each connection, what is answered; nil = nobody looks
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup
}

// newRelay leads to a runtime; the token opens the way. The
// folder is the relay's own.
func newRelay(dir, endpoint, token string, watch ...func() io.WriteCloser) (*relay, error) {
	client, err := client.New(endpoint, token)
	if err != nil {
		return nil, err
	}
	return listenRelay(dir, client.Dial, client.Close, watch...)
}

// listenRelay leads to whatever dial does. When it fails, done has been called.
func listenRelay(dir string, dial func(context.Context) (net.Conn, error), done func(), watch ...func() io.WriteCloser) (*relay, error) {
	r := &relay{socket: filepath.Join(dir, "s"), dir: dir, dial: dial, done: done, watch: watch}
	var err error
	if r.listener, err = net.Listen("unix", r.socket); err != nil {
		done()
		os.RemoveAll(dir)
		return nil, err
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.wg.Go(r.accept)
	return r, nil
}

func (r *relay) accept() {
	for {
		near, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.wg.Go(func() { r.join(near) })
	}
}

// join carries one connection until either end closes it. Where there is no way to
// the machine, the answer says why.
func (r *relay) join(near net.Conn) {
	defer near.Close()
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	far, err := r.dial(ctx)
	if err != nil {
		refuse(near, err)
		return
	}
	stop := context.AfterFunc(ctx, func() {
		near.Close()
		far.Close()
	})
	defer stop()
	var wg sync.WaitGroup
	pass := func(to io.Writer, from io.Reader) {
		_, _ = io.Copy(to, from)
		cancel()
	}
	answers := io.Reader(far)
	for _, watch := range r.watch {
		if watch == nil {
			continue
		}
		watcher := watch()
		defer watcher.Close()
		answers = io.TeeReader(answers, watcher)
	}
	wg.Go(func() { pass(far, near) })
	wg.Go(func() { pass(near, answers) })
	wg.Wait()
}

// refuse answers the first request of a connection; closing with that unread would
// take the answer away.
func refuse(conn net.Conn, err error) {
	_ = conn.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = conn.Read(make([]byte, 64<<10))
	body, _ := json.Marshal(map[string]any{"error": protocol.Errorf(protocol.Unavailable, "%v", err)})
	fmt.Fprintf(conn, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)
}

func (r *relay) close() {
	_ = r.listener.Close()
	r.cancel()
	r.wg.Wait()
	r.done()
	_ = os.RemoveAll(r.dir)
}
