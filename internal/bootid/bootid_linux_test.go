package bootid_test

import (
	"regexp"
	"testing"

	"github.com/seer-engine/seer/internal/bootid"
)

func TestRead(t *testing.T) {
	t.Parallel()
	if id := bootid.Read(); !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(id) || id != bootid.Read() {
		t.Errorf("%q", id)
	}
}
