package runtime

import (
	"log/slog"
	"net/http"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/auth"
	"github.com/seer-engine/seer/engine/runtime/internal/callproxy"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
	"github.com/seer-engine/seer/engine/runtime/internal/service"
	"github.com/seer-engine/seer/engine/runtime/internal/unixsocket"
)

const headerClient = "Seer-Client" // the name of the client that makes calls over a connection

// serviceHandler answers requests about services, their tokens and journals.
type serviceHandler struct {
	services *service.Manager
	calls    *callproxy.Handler
	config   func() protocol.Config
	persist  func()
	log      *slog.Logger
}

func (h *serviceHandler) putService(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("service")
	var spec protocol.ServiceSpec
	if err := httpx.ReadJSON(r, &spec); err != nil {
		return err
	}
	if err := service.Check(name, spec); err != nil {
		return err
	}
	v, err := h.services.Obtain(name)
	if err != nil {
		return err
	}
	d := v.Serve(spec, 0)
	h.persist()
	return httpx.WriteJSON(w, http.StatusAccepted, d)
}

func (h *serviceHandler) getServices(w http.ResponseWriter, _ *http.Request) error {
	list := []protocol.Service{}
	for _, v := range h.services.All() {
		if d, ok := v.Describe(); ok {
			list = append(list, d)
		}
	}
	return httpx.WriteJSON(w, http.StatusOK, map[string]any{"services": list})
}

// with answers a request about the service in its path.
func (h *serviceHandler) with(answer func(w http.ResponseWriter, r *http.Request, v *service.Service) error) httpx.Handler {
	return httpx.Found("service", h.services.Get, answer)
}

func (h *serviceHandler) getService(w http.ResponseWriter, r *http.Request, v *service.Service) error {
	q := httpx.QueryOf(r)
	generation := q.Int("generation")
	ctx, cancel := q.Wait()
	defer cancel()
	if err := q.Err(); err != nil {
		return err
	}
	d, err := v.Wait(ctx, int(generation), q.Get("unless"))
	if err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, forToken(d, auth.CallerOf(r).Token))
}

func (h *serviceHandler) deleteService(w http.ResponseWriter, r *http.Request, v *service.Service) error {
	q := httpx.QueryOf(r)
	generation := q.Int("generation")
	if err := q.Err(); err != nil {
		return err
	}
	if generation == 0 || !v.Abandon(int(generation)) {
		if err := h.services.Remove(v.Name); err != nil {
			return err
		}
		h.calls.DropService(v.Name)
	}
	h.persist()
	return httpx.WriteDone(w)
}

func getLogs(w http.ResponseWriter, r *http.Request, v *service.Service) error {
	return sendRecords(w, r, v.Logs)
}

// getConnect hands the client's own connection to the worker. A reverse proxy
// that passes an Upgrade on gives the connection to this client for good.
func (h *serviceHandler) getConnect(w http.ResponseWriter, r *http.Request, v *service.Service) error {
	if r.Header.Get("Upgrade") != protocol.FrameProtocol {
		return protocol.Errorf(protocol.Unsupported, "a connection is handed over only to a client that asks for the upgrade to %s", protocol.FrameProtocol)
	}
	wk, err := v.AwaitWorker(r.Context())
	if err != nil {
		return err
	}
	defer wk.Leave()
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
		h.log.Error("a connection could not be handed over", "error", err)
		return nil
	}
	defer f.Close()
	who := auth.CallerOf(r)
	if err := wk.HandOver(f, protocol.FrameProtocol, who.Owner(), r.Header.Get(headerClient), who.Scope() == ""); err != nil {
		_, _ = f.WriteString("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	}
	return nil
}
