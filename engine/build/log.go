package build

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
)

const (
	logsDir    = "logs"
	logsKept   = 30 * 24 * time.Hour
	longestLog = 16 << 20
)

// installLog takes what installers print: each line becomes an event, and all of them are
// kept in a file on this computer. The file only helps to find out why something failed:
// what prevents it from being written prevents nothing else.
type installLog struct {
	i        *Installation
	machine  string // ID
	start    time.Time
	file     *os.File // nil before the first line, and where there can be none
	lines    int
	bytes    int  // of these
	kept     int  // bytes in the file
	packages int  // that pip and apt have installed
	full     bool // a disk
	part     bool // the file has not all lines
}

func (i *Installation) newLog(machine string) *installLog {
	return &installLog{i: i, machine: machine, start: i.builder.Now()}
}

// line is one of an installer's.
func (l *installLog) line(text string) {
	var upgraded, newly int
	if names, ok := strings.CutPrefix(text, "Successfully installed "); ok {
		l.packages += len(strings.Fields(names))
	} else if n, _ := fmt.Sscanf(text, "%d upgraded, %d newly installed", &upgraded, &newly); n == 2 {
		l.packages += newly
	}
	l.full = l.full || strings.Contains(text, syscall.ENOSPC.Error()) || strings.Contains(text, "No space left on device")
	l.keep(text)
	l.i.Report.Output(event.StageBoot, text)
}

func (l *installLog) keep(text string) {
	if l.lines == 0 {
		l.open()
	}
	l.lines++
	if l.file == nil || l.bytes > longestLog {
		return
	}
	if l.bytes += len(text) + 1; l.bytes > longestLog {
		text, l.part = "… what came after this is not kept", true
	}
	n, err := fmt.Fprintln(l.file, text)
	l.kept += n
	l.part = l.part || err != nil
}

// open makes the file, named by the machine, and removes the old ones.
func (l *installLog) open() {
	dir, err := l.i.builder.Store.Cache(logsDir)
	if err != nil {
		return
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && l.i.builder.Now().Sub(info.ModTime()) > logsKept {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	l.file, _ = os.OpenFile(filepath.Join(dir, l.machine+".log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
}

// end closes the file, and names it in an error: what that quotes may lack what matters.
func (l *installLog) end(ctx context.Context, err error) error {
	if err != nil && l.full {
		err = &errdefs.Error{Kind: errdefs.KindNoSpace, Err: err}
	}
	if l.file == nil {
		return err
	}
	name := l.file.Name()
	if l.file.Close() != nil {
		l.part = true
	}
	switch {
	case err == nil || ctx.Err() != nil || l.kept == 0:
		return err
	case l.part:
		return fmt.Errorf("%w; a part of what was printed is in %s", err, name)
	}
	return fmt.Errorf("%w; all that was printed is in %s", err, name)
}

// finished says what was installed.
func (l *installLog) finished(contents string) event.InstallFinished {
	return event.InstallFinished{Contents: contents, Packages: l.packages, Seconds: l.i.builder.Now().Sub(l.start).Seconds()}
}
