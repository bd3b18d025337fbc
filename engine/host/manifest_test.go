package host

import (
	"strings"
	"testing"
)

func FuzzManifest(f *testing.F) {
	f.Add("id: expose-shout\nversion: 0.1.0\nimplements: [expose/1]\nprovides: [shout]\n")
	f.Add("id: &a [*a]\n")
	f.Add("id: x\nid: y\nlimits: {call_seconds: .nan}\n")
	f.Add("[]")
	limits := Limits{}.withDefaults()
	f.Fuzz(func(t *testing.T, text string) {
		m, err := parseManifest("p.yaml", []byte(text), limits)
		if err != nil {
			for _, line := range strings.Split(err.Error(), "\n") {
				if !strings.HasPrefix(line, "p.yaml:") {
					t.Errorf("%q has no place", line)
				}
			}
			return
		}
		if !idPattern.MatchString(m.ID) || len(m.Implements) == 0 || len(m.Provides) == 0 {
			t.Errorf("accepted %+v", m)
		}
		if l := limits.asked(m.Limits); l.MemoryMB > limits.MaxMemoryMB || l.CallTime > limits.CallTime || l.MemoryMB <= 0 || l.CallTime < 0 {
			t.Errorf("limits %+v", l)
		}
	})
}
