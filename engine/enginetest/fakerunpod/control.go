package fakerunpod

import (
	"encoding/json"
	"net/http"
)

// Control lets another process see and change what the methods of the cloud do, in
// JSON: for a cloud that runs as a program of its own. Bind it to loopback only: it
// has no credentials.
//
//	GET    /pods                                   → [Pod]
//	GET    /requests                               → {"GET /v2/pods": 3}
//	POST   /faults      Fault                      Inject
//	DELETE /faults                                 ClearFaults
//	PUT    /behaviour   Behaviour                  SetBehaviour
//	PUT    /stock       {"resource","data_center","n"}
//	PUT    /credit      true or false              SetCredit
//	PUT    /keys/{key}  true or false              SetKey
//	POST   /pods/{id}/{freeze, thaw, kill or lose}
func (c *Cloud) Control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /pods", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, c.Pods()) })
	mux.HandleFunc("GET /requests", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, c.Requests()) })
	mux.HandleFunc("POST /faults", told(func(_ *http.Request, f Fault) { c.Inject(f) }))
	mux.HandleFunc("DELETE /faults", func(http.ResponseWriter, *http.Request) { c.ClearFaults() })
	mux.HandleFunc("PUT /behaviour", told(func(_ *http.Request, b Behaviour) { c.SetBehaviour(b) }))
	mux.HandleFunc("PUT /stock", told(func(_ *http.Request, s struct {
		Resource   string `json:"resource"`
		DataCenter string `json:"data_center"`
		N          int    `json:"n"`
	}) {
		c.Stock(s.Resource, s.DataCenter, s.N)
	}))
	mux.HandleFunc("PUT /credit", told(func(_ *http.Request, has bool) { c.SetCredit(has) }))
	mux.HandleFunc("PUT /keys/{key}", told(func(r *http.Request, good bool) { c.SetKey(r.PathValue("key"), good) }))
	for name, do := range map[string]func(string){"freeze": c.Freeze, "thaw": c.Thaw, "kill": c.Kill, "lose": c.Lose} {
		mux.HandleFunc("POST /pods/{id}/"+name, func(_ http.ResponseWriter, r *http.Request) { do(r.PathValue("id")) })
	}
	return mux
}

// told reads a value strictly and acts on it.
func told[T any](act func(*http.Request, T)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var value T
		d := json.NewDecoder(r.Body)
		d.DisallowUnknownFields()
		if err := d.Decode(&value); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		act(r, value)
	}
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client has gone
}
