package spawn

import (
	"os/exec"
	"testing"
)

func TestStartAfterClose(t *testing.T) {
	s := New()
	s.Close()
	cmd := exec.Command("true")
	if err := s.Start(cmd); err == nil || cmd.Process != nil {
		t.Errorf("started after the end: %v", err)
	}
}
