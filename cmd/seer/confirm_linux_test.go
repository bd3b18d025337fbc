package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminalPair is a terminal and the keyboard of it.
func terminalPair(t *testing.T) (keyboard, tty *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keyboard.Close() })
	if err := unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	return keyboard, tty
}

// What was pasted together with the command is no yes.
func TestAnAnswerComesAfterItsQuestion(t *testing.T) {
	keyboard, tty := terminalPair(t)
	if _, err := keyboard.WriteString("y\n"); err != nil {
		t.Fatal(err)
	}
	asked, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer asked.Close()
	ui := newTerminal(tty, asked, asked)
	answer := make(chan bool, 1)
	go func() {
		yes, err := ui.confirm(t.Context(), "Allow this?")
		if err != nil {
			t.Error(err)
		}
		answer <- yes
	}()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if text, _ := os.ReadFile(asked.Name()); strings.Contains(string(text), "[y/N]") {
			break
		}
		if time.Now().After(limit) {
			t.Fatal("nothing is asked")
		}
	}
	if _, err := keyboard.WriteString("n\n"); err != nil {
		t.Fatal(err)
	}
	if <-answer {
		t.Error("what was typed before the question is a yes to it")
	}
}
