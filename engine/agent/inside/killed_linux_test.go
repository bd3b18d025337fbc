package inside_test

import (
	"io"
	"testing"
)

// TestKilled leaves no command behind: the end of its output says that it has ended.
func TestKilled(t *testing.T) {
	cmd, out, _ := running(t, `echo $$; exec cat`)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
}
