package files

import (
	"strings"
	"testing"
)

// What belongs to one sandbox is not saved: not the script of VS Code either, which has the
// secret path of its address.
func TestRenewedIsNotSaved(t *testing.T) {
	t.Parallel()
	below := strings.Join(renewedBelow("~/"), " ")
	if !strings.Contains(below, ".seer/code-server") || strings.Contains(below, "~") || len(renewedBelow("/workspace")) != 0 {
		t.Error(below)
	}
}
