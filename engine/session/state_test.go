package session

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/machine"
)

// What a newer version has noted of the session stays.
func TestSetStateKeepsWhatANewerVersionHasNoted(t *testing.T) {
	r := machine.Record{Extra: map[string]json.RawMessage{stateKey: json.RawMessage(`{"mode":"cli","prompt":"old","later":[1]}`)}}
	if err := SetState(&r, func(s *State) { s.Mode, s.Prompt = "notebook", "" }); err != nil {
		t.Fatal(err)
	}
	if s, text := StateOf(r), string(r.Extra[stateKey]); s.Mode != "notebook" || s.Prompt != "" || !strings.Contains(text, `"later":[1]`) {
		t.Errorf("%+v, %s", s, text)
	}
}
