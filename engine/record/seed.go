package record

import (
	"encoding/json"
	"slices"

	"github.com/seer-engine/seer/engine/protocol/value"
	"github.com/seer-engine/seer/sdk"
)

// seed is the argument of that name, where there is one.
func (r *Recorder) seed(fn, hash string) json.RawMessage {
	place, known := r.seeds[fn]
	if !known {
		place = r.seedOf(fn)
		r.seeds[fn] = place
	}
	if place < 0 {
		return nil
	}
	v, err := r.to.folder.Body(hash)
	if err != nil {
		return nil
	}
	text, err := v.Plain(value.PlainOptions{Shorten: 1 << 10})
	if err != nil {
		return nil
	}
	var call struct {
		Args   []json.RawMessage          `json:"args"`
		Kwargs map[string]json.RawMessage `json:"kwargs"`
	}
	_ = json.Unmarshal(text, &call) // then there is none
	if place < len(call.Args) {
		return call.Args[place]
	}
	return call.Kwargs["seed"]
}

// seedOf is the place of the parameter seed; -1 where there is none.
func (r *Recorder) seedOf(fn string) int {
	face, err := r.to.folder.Interface(r.service)
	if err != nil {
		return -1
	}
	for _, f := range face.Functions {
		if f.Name == fn {
			return slices.IndexFunc(f.Params, func(p sdk.Param) bool { return p.Name == "seed" })
		}
	}
	return -1
}
