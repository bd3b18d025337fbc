package mockmodel_test

import (
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/agent/mockmodel"
)

func TestParse(t *testing.T) {
	s, err := mockmodel.Parse("s.yaml", []byte(`
turns:
  - {call: tools/embed, with: {n: 2000}, take: {handle: '\b(h-\w+)'}, usage: {input: 100, cache_read: 7}}
  - {think: hm, call: total, with: {xs: {handle: "${handle}"}}, until: done}
  - {say: all done, fault: {status: 429, times: 2}}
`))
	if err != nil {
		t.Fatal(err)
	}
	first, last := s.Turns[0], s.Turns[2]
	if len(s.Turns) != 3 || s.End != "finished" || first.Usage != (mockmodel.Usage{Input: 100, Output: 1, CacheRead: 7}) || first.With["n"] != 2000 {
		t.Errorf("%+v", s)
	}
	if last.Fault.Status != 429 || last.Fault.Times != 2 || last.Say != "all done" {
		t.Errorf("%+v", last)
	}
}

// All mistakes come at once, each with its line.
func TestParseMistakes(t *testing.T) {
	_, err := mockmodel.Parse("s.yaml", []byte(`turn: []
turns:
  - {say: a, withs: 1}
  - {}
  - {say: a, until: b}
  - call: x
    with: [1]
    optional: maybe
  - {call: x, with: {y: "${nothing}"}, until: "("}
  - {say: a, fault: {status: 99}}
  - {say: a, fault: {times: 1}}
  - {say: a, fault: {hang: soon}, usage: {input: -1}}
`))
	if err == nil {
		t.Fatal("no mistake was found")
	}
	for _, want := range []string{
		`s.yaml:1: script: unknown key "turn"; did you mean "turns"?`,
		`s.yaml:3: turns[0]: unknown key "withs"; did you mean "with"?`,
		"s.yaml:4: turns[1]: neither say nor call; write one",
		"s.yaml:5: turns[2].until: belongs to a call, and the turn has none",
		"s.yaml:7: turns[3].with: not a mapping of arguments to values",
		`s.yaml:8: turns[3].optional: "maybe" is neither true nor false`,
		"s.yaml:9: turns[4].with: ${nothing} is taken by no earlier turn",
		"s.yaml:9: turns[4].until: not a regular expression",
		`s.yaml:10: turns[5].fault.status: "99" is not a whole number from 400 to 599`,
		"s.yaml:11: turns[6].fault: nothing goes wrong; write status, hang or cut",
		`s.yaml:12: turns[7].fault.hang: "soon" is not a duration; write one such as 30s`,
		`s.yaml:12: turns[7].usage.input: "-1" is not a whole number from 0`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in\n%v", want, err)
		}
	}
	for _, empty := range []string{"", "# nothing\n", "turns: 3", "[]"} {
		if _, err := mockmodel.Parse("s.yaml", []byte(empty)); err == nil || !strings.Contains(err.Error(), "s.yaml:1: ") {
			t.Errorf("%q: %v", empty, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("turns: [{call: a, with: {b: [1, {c: d}]}, take: {e: '(.)'}}]")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := mockmodel.Parse("s.yaml", []byte(text))
		if (s == nil) == (err == nil) {
			t.Errorf("%+v, %v", s, err)
		}
	})
}
