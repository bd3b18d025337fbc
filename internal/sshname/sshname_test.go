package sshname_test

import (
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/sshname"
)

func TestValid(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"box", "me@box", "10.0.0.1", "a_b.example.org", "[::1]", "fe80::1", "first.last@box", strings.Repeat("a", 255)} {
		if !sshname.Valid(name) {
			t.Errorf("%q is refused", name)
		}
	}
	for _, name := range []string{"", "-oProxyCommand=x", "-l@box", "me@-box", "a b", "a;b", "a\nb", "$(x)", "`x`", "a@b@c", "%h", "a/b", "é", "a\x00", strings.Repeat("a", 256)} {
		if sshname.Valid(name) {
			t.Errorf("%q is let through", name)
		}
	}
}
