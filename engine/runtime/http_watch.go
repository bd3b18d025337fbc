package runtime

import (
	"encoding/json"
	"net/http"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
	"github.com/seer-engine/seer/engine/runtime/internal/usage"
	"github.com/seer-engine/seer/engine/runtime/internal/watch"
)

// maxWatches is how many there may be at a time: a kernel has few to give.
const maxWatches = 32

// watches count what is being watched.
type watches struct{ slots watch.Slots }

func (s *Server) getUsage(w http.ResponseWriter, r *http.Request) error {
	return httpx.WriteJSON(w, http.StatusOK, usage.Read(r.Context(), s.env))
}

// getWatch tells what happens to a path until the client goes, or its time is over.
func (s *Server) getWatch(w http.ResponseWriter, r *http.Request) error {
	path, err := queryPath(s.env, r)
	if err != nil {
		return err
	}
	q := httpx.QueryOf(r)
	ctx, cancel := q.OptionalWait()
	defer cancel()
	if err := q.Err(); err != nil {
		return err
	}
	if !s.watches.slots.Take(maxWatches) {
		return protocol.Errorf(protocol.Unavailable, "%d watches are open on the machine; close one", maxWatches)
	}
	defer s.watches.slots.Give()
	t, err := watch.New(q.Get("path"), path, q.Is("recursive"))
	if err != nil {
		return err
	}
	defer t.Close()
	w.Header().Set("Content-Type", "application/jsonl")
	w.Header().Set("X-Accel-Buffering", "no")
	flush := http.NewResponseController(w).Flush
	out := json.NewEncoder(w)
	tell := func(e protocol.WatchEvent) error { return out.Encode(e) }
	if err := tell(protocol.WatchEvent{Type: protocol.WatchReady}); err != nil {
		return nil // the client is gone
	}
	if flush() == nil {
		_ = t.Run(ctx, tell, flush) // what it returns is the client's going
	}
	return nil
}
