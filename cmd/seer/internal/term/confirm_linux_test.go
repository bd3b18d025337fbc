package term

import (
	"os"
	"strings"
	"testing"

	"github.com/seer-engine/seer/cmd/seer/internal/term/termtest"
	"github.com/seer-engine/seer/internal/testkit"
)

// What was pasted together with the command is no yes.
func TestAnAnswerComesAfterItsQuestion(t *testing.T) {
	keyboard, tty := termtest.Open(t, 80)
	if _, err := keyboard.WriteString("y\n"); err != nil {
		t.Fatal(err)
	}
	asked, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer asked.Close()
	ui := New(tty, asked, asked)
	answer := make(chan bool, 1)
	go func() {
		yes, err := ui.Confirm(t.Context(), "Allow this?")
		if err != nil {
			t.Error(err)
		}
		answer <- yes
	}()
	testkit.Eventually(t, "the question", func() bool {
		text, _ := os.ReadFile(asked.Name())
		return strings.Contains(string(text), "[y/N]")
	})
	if _, err := keyboard.WriteString("n\n"); err != nil {
		t.Fatal(err)
	}
	if <-answer {
		t.Error("what was typed before the question is a yes to it")
	}
}
