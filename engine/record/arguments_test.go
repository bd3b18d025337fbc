package record

import (
	"bytes"
	"testing"
)

// What is recorded is what the function got: Python's reading of the body, to which
// ARGS is nothing and the last of two args counts.
func TestArgumentsAreReadAsTheWorkerReadsThem(t *testing.T) {
	for body, want := range map[string]string{
		`{"args":[1],"ARGS":[2],"Kwargs":{"a":1}}`:           `{"args":[1],"kwargs":{}}`,
		`{"args":[1],"args":[2],"kwargs":{"a":1,"a":2}}`:     `{"args":[2],"kwargs":{"a":2}}`,
		`{"\u0061rgs":[1],"timeout_seconds":5}`:              `{"args":[1],"kwargs":{}}`,
		`{"kwargs":{"A":1,"a":2},"Tagged":true}`:             `{"args":[],"kwargs":{"A":1,"a":2}}`,
		`{"args":[{"$seer":{"float":"nan"}}],"tagged":true}`: `{"args":[{"$seer":{"float":"nan"}}],"kwargs":{}}`,
		`{"args":["<&>"]}`:                                   `{"args":["<&>"],"kwargs":{}}`,
	} {
		v, err := arguments([]byte(body), false)
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		var out bytes.Buffer
		if err := v.WriteCanonical(&out); err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(out.Bytes(), []byte(want)) {
			t.Errorf("%s is recorded as %s, not %s", body, out.Bytes(), want)
		}
	}
}
