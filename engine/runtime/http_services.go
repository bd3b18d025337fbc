package runtime

import (
	"net/http"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/auth"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
	"github.com/seer-engine/seer/engine/runtime/internal/unixsocket"
)

func (s *Server) putService(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("service")
	var spec protocol.ServiceSpec
	if err := httpx.ReadJSON(r, &spec); err != nil {
		return err
	}
	if err := checkService(name, spec); err != nil {
		return err
	}
	v, err := s.services.obtain(s, name)
	if err != nil {
		return err
	}
	d := v.serve(spec, 0)
	s.persist()
	return httpx.WriteJSON(w, http.StatusAccepted, d)
}

func (s *Server) getServices(w http.ResponseWriter, _ *http.Request) error {
	list := []protocol.Service{}
	for _, v := range s.services.all() {
		v.mu.Lock()
		if g := v.shown(0); g != nil {
			list = append(list, v.describe(g))
		}
		v.mu.Unlock()
	}
	return httpx.WriteJSON(w, http.StatusOK, map[string]any{"services": list})
}

func (s *Server) getService(w http.ResponseWriter, r *http.Request) error {
	v, err := s.services.get(r.PathValue("service"))
	if err != nil {
		return err
	}
	generation, err := httpx.QueryInt(r.URL.Query(), "generation")
	if err != nil {
		return err
	}
	ctx, cancel, err := httpx.QueryWait(r)
	if err != nil {
		return err
	}
	defer cancel()
	d, err := v.wait(ctx, int(generation), r.URL.Query().Get("unless"))
	if err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, forToken(d, auth.CallerOf(r).Token))
}

func (s *Server) deleteService(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("service")
	v, err := s.services.get(name)
	if err != nil {
		return err
	}
	generation, err := httpx.QueryInt(r.URL.Query(), "generation")
	if err != nil {
		return err
	}
	if generation == 0 || !v.abandon(int(generation)) {
		if err := s.services.remove(name); err != nil {
			return err
		}
		s.arguments.dropOwner(name + "\x00")
	}
	s.persist()
	return httpx.WriteJSON(w, http.StatusOK, struct{}{})
}

func (s *Server) getLogs(w http.ResponseWriter, r *http.Request) error {
	v, err := s.services.get(r.PathValue("service"))
	if err != nil {
		return err
	}
	ctx, cancel, err := httpx.QueryWait(r)
	if err != nil {
		return err
	}
	defer cancel()
	q := r.URL.Query()
	offset, err := httpx.QueryInt(q, "offset")
	if err != nil {
		return err
	}
	first := v.logs.First(offset)
	flush := httpx.BeginRecords(w, first)
	if _, err := v.logs.CopyTo(ctx, w, flush, first, q.Get("follow") == "1"); err != nil {
		httpx.Abort(err)
	}
	return nil
}

// getConnect hands the client's own connection to the worker. A reverse proxy
// that passes an Upgrade on gives the connection to this client for good.
func (s *Server) getConnect(w http.ResponseWriter, r *http.Request) error {
	v, err := s.services.get(r.PathValue("service"))
	if err != nil {
		return err
	}
	if r.Header.Get("Upgrade") != protocol.FrameProtocol {
		return protocol.Errorf(protocol.Unsupported, "a connection is handed over only to a client that asks for the upgrade to %s", protocol.FrameProtocol)
	}
	wk, err := v.await(r.Context())
	if err != nil {
		return err
	}
	defer wk.leave()
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return protocol.Errorf(protocol.Unsupported, "this connection cannot be handed over: %v", err)
	}
	if buffered.Reader.Buffered() > 0 {
		conn.Close()
		return nil // the client sent more before it had the answer: nothing sound can follow
	}
	f, err := unixsocket.HandOver(conn)
	if err != nil {
		s.options.Logger.Error("a connection could not be handed over", "error", err)
		return nil
	}
	defer f.Close()
	// The worker itself says yes: a client that has no answer then knows that nothing
	// of its call can have run in a worker that was dying.
	yes := "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + protocol.FrameProtocol + "\r\n\r\n"
	if err := wk.send(controlLine{Kind: "conn", Hello: yes, Token: auth.CallerOf(r).Owner(), Client: r.Header.Get(headerClient)}, f); err != nil {
		_, _ = f.WriteString("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	}
	return nil
}
