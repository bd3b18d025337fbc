package protocol_test

import (
	"encoding/json"
	"testing"

	"github.com/seer-engine/seer/engine/protocol"
)

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		`123456789012345678901`:                      `123456789012345678901`,
		`{"a":{"$seer":{"float":"nan"}}}`:            `{"a":"NaN"}`,
		`[{"$seer":{"float":"-inf"}},1.50]`:          `["-Infinity",1.50]`,
		`{"$seer":{"dict":{"$seer":{"a":1}}}}`:       `{"$seer":{"a":1}}`,
		`["<b>",{"$seer":{"float":"inf"}},"\u00e9"]`: `["<b>","Infinity","é"]`,
	} {
		got, err := protocol.Plain(json.RawMessage(in))
		if err != nil || string(got) != want {
			t.Errorf("Plain(%s) = %s, %v; want %s", in, got, err, want)
		}
	}
	if _, err := protocol.Plain(json.RawMessage(`{"$seer":`)); err == nil {
		t.Error("broken JSON was taken")
	}
}
