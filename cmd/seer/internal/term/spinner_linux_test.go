package term

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seer-engine/seer/cmd/seer/internal/term/termtest"
	"github.com/seer-engine/seer/engine/event"
)

// A terminal whose locale has no such characters is shown none.
func TestMarksOfALocale(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	for _, tc := range []struct {
		all, ctype, lang string
		ascii            bool
	}{
		{"", "", "", false}, {"", "", "C", true}, {"", "", "C.UTF-8", false}, {"POSIX", "", "en_US.UTF-8", true},
		{"", "de_DE.utf8", "C", false}, {"", "", "en_US.ISO-8859-1", true},
	} {
		t.Setenv("LC_ALL", tc.all)
		t.Setenv("LC_CTYPE", tc.ctype)
		t.Setenv("LANG", tc.lang)
		screen, tty := termtest.Open(t, 60)
		ui := New(tty, tty, tty)
		ui.Configure(Options{})
		ui.Report(event.InstallStarted{Contents: "a step"})
		ui.Report(event.SandboxReady{Sandbox: "sb-1"})
		ui.Finish()
		tty.Close()
		seen, _ := io.ReadAll(screen)
		plainly := !strings.ContainsFunc(string(seen), func(r rune) bool { return r > 127 })
		if plainly != tc.ascii || !strings.Contains(string(seen), "sandbox sb-1 is ready") {
			t.Errorf("%+v: %q", tc, seen)
		}
	}
}

// TestLiveLineMakesWay: whoever else writes at the same time, each line is whole, in its
// order, and no live line stays.
func TestLiveLineMakesWay(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	t.Setenv("LC_ALL", "C.UTF-8")
	screen, tty := termtest.Open(t, 60)
	seen := make(chan string)
	go func() {
		text, _ := io.ReadAll(screen)
		seen <- string(text)
	}()
	ui := New(tty, tty, tty)
	ui.Configure(Options{})
	const each = 200
	var all sync.WaitGroup
	m := ui.NewMeter("cp", "a → b", 1<<30)
	for _, write := range []func(int){
		func(i int) { ui.Tell("told %d", i) },
		func(i int) { ui.Note("warning", fmt.Sprint("note ", i)) },
		func(i int) {
			ui.Report(event.InstallStarted{Contents: fmt.Sprint("step ", i)})
		},
		func(i int) {
			ui.Report(event.Output{Stage: event.StageBoot, Line: fmt.Sprint("log ", i)})
		},
		func(int) {
			ui.Report(event.Copied{Stage: event.StageUpload, Bytes: 5, Total: 7})
		},
		func(int) { m.Add(1 << 20) },
		func(i int) { fmt.Fprintf(ui.Stdout(), "result %d\n", i) },
	} {
		all.Go(func() {
			for i := range each {
				write(i)
			}
		})
	}
	all.Wait()
	m.End(nil)
	m.Add(1) // what comes late is not shown
	ui.Finish()
	ui.Reveal()
	tty.Close()
	left := termtest.Visible(<-seen)
	for _, prefix := range []string{"told ", "warning: note ", "result "} {
		var got, want []string
		for _, line := range left {
			if strings.HasPrefix(line, prefix) {
				got = append(got, line)
			}
		}
		for i := range each {
			want = append(want, fmt.Sprint(prefix, i))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d lines of %q: %q", len(got), prefix, got)
		}
	}
	done := fmt.Sprintf("✓ a → b: %s in ", Size(each<<20))
	if !slices.ContainsFunc(left, func(l string) bool { return strings.HasPrefix(l, done) }) || strings.ContainsAny(strings.Join(left, ""), termtest.Frames) {
		t.Errorf("what stays: %q", left)
	}
}

// What was on the disk before a download is not taken for its speed.
func TestLiveLineOfADownload(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	screen, tty := termtest.Open(t, 80)
	ui := New(tty, tty, tty)
	ui.Configure(Options{})
	ui.Report(event.ModelResolving{Model: "org/model"})
	lines := bufio.NewReader(screen)
	shows := func(d event.Copied, want string) {
		t.Helper()
		ui.Report(d)
		for seen := ""; !strings.HasSuffix(seen, want); { // the live line is drawn again and again
			line, err := lines.ReadString('\r')
			if err != nil {
				t.Fatalf("%q is never shown: %v", want, err)
			}
			seen = strings.TrimSuffix(line, "\r")
		}
	}
	shows(event.Copied{Stage: event.StageModel, Bytes: 3e9, Total: 4e9}, "· 3.0 GB of 4.0 GB")
	shows(event.Copied{Stage: event.StageModel, Bytes: 3e9, Total: 4e9, Rate: 2e7, Left: 50}, "· 3.0 GB of 4.0 GB, 20.0 MB/s, 50 s left")
	ui.Finish()
	tty.Close()
}
