package store

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/state"
)

// The audit of a plugin is a folder of numbered files, and the counts of those that were
// too old to keep.
const (
	segmentBytes = 4 << 20
	segmentsKept = 3
	segmentName  = ".jsonl"
	countsName   = "counts.json"
	auditWait    = 10 * time.Second // for another process that is writing
	maxAuditLine = 1 << 20
)

// auditLog is what plugins did, on disk: a folder for each.
type auditLog struct {
	audits string // folder of all
	log    hclog.Logger
	step   func(string) error
}

func (a auditLog) auditOf(id string) string { return filepath.Join(a.audits, id) }

// append adds events to the newest file of a plugin.
func (a auditLog) append(id string, events []Event) error {
	dir := a.auditOf(id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return full(dir, err)
	}
	var data []byte
	for _, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		data = append(append(data, line...), '\n')
	}
	ctx, cancel := context.WithTimeout(context.Background(), auditWait)
	defer cancel()
	lock, err := state.Acquire(ctx, filepath.Join(dir, "lock"))
	if err != nil {
		return err
	}
	defer lock.Release()
	c, err := readCounts(dir)
	if err != nil {
		return err
	}
	numbers, err := segments(dir, c.Folded)
	if err != nil {
		return err
	}
	newest := c.Folded + 1
	if len(numbers) > 0 {
		newest = numbers[len(numbers)-1]
	}
	if info, err := os.Stat(segment(dir, newest)); err == nil && info.Size() >= segmentBytes {
		newest++
		numbers = append(numbers, newest)
	}
	if err := appendLines(segment(dir, newest), data); err != nil {
		return err
	}
	if err := a.fold(dir, c, numbers); err != nil { // the next one tries again; nothing is lost
		a.log.Debug("old requests of a plugin cannot be counted together", "folder", dir, "error", err)
	}
	return nil
}

// appendLines leaves whole lines, whatever happens.
func appendLines(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return full(path, err)
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	last := []byte{'\n'}
	if size > 0 {
		if _, err := f.ReadAt(last, size-1); err != nil {
			return err
		}
	}
	if last[0] != '\n' { // its writer was killed
		data = append([]byte{'\n'}, data...)
	}
	if _, err := f.Write(data); err != nil {
		return full(path, errors.Join(err, f.Truncate(size)))
	}
	return nil
}

// fold counts the oldest files when there are too many, and removes them. The counts
// say up to which file they go, so that one who is killed in between counts nothing twice.
func (a auditLog) fold(dir string, c *counts, numbers []int) error {
	for len(numbers) > segmentsKept {
		if err := readSegment(segment(dir, numbers[0]), c.add); err != nil {
			return err
		}
		c.Folded = numbers[0]
		data, err := json.Marshal(c)
		if err != nil {
			return err
		}
		if err := a.step("audit counts"); err != nil {
			return err
		}
		if err := state.WriteFile(filepath.Join(dir, countsName), data, 0o600); err != nil {
			return err
		}
		if err := a.step("audit remove"); err != nil {
			return err
		}
		if err := os.Remove(segment(dir, numbers[0])); err != nil {
			return err
		}
		numbers = numbers[1:]
	}
	return nil
}

func segment(dir string, n int) string {
	return filepath.Join(dir, fmt.Sprintf("%06d%s", n, segmentName))
}

// segments are the numbers of the files that are not in the counts, oldest first.
func segments(dir string, folded int) ([]int, error) {
	entries, err := os.ReadDir(dir)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []int
	for _, e := range entries {
		text, ok := strings.CutSuffix(e.Name(), segmentName)
		n, err := strconv.Atoi(text)
		if !ok || err != nil || segment(dir, n) != filepath.Join(dir, e.Name()) {
			continue
		}
		if n <= folded {
			_ = os.Remove(segment(dir, n)) // counted by one who was killed then
			continue
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return out, nil
}

// readSegment gives every event of a file. A line that is no event, such as half of one,
// is passed over.
func readSegment(path string, each func(Event)) error {
	f, err := os.Open(path)
	if missing(err) {
		return nil // folded meanwhile
	}
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 64<<10), maxAuditLine)
	for lines.Scan() {
		if e, ok := parseEvent(lines.Bytes()); ok {
			each(e)
		}
	}
	return lines.Err()
}

func parseEvent(line []byte) (Event, bool) {
	var e Event
	err := json.Unmarshal(bytes.TrimSpace(line), &e)
	return e, err == nil && e.Plugin != ""
}
