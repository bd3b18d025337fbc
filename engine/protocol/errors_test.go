package protocol

import "testing"

func TestErrorCodesSurviveTheWire(t *testing.T) {
	for _, c := range []Code{Invalid, Unauthorized, Forbidden, NotFound, Conflict, Failed, Unsupported, Unavailable, NoSpace} {
		if got := CodeOfStatus(c.Status()); got != c {
			t.Errorf("%s became %s", c, got)
		}
	}
}
