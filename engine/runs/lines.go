package runs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Fault says what cannot be read of a log.
type Fault struct {
	Line int // 1, 2, 3 …
	Err  error
}

func (f *Fault) Error() string {
	return fmt.Sprintf("line %d of %s: %v", f.Line, EventsName, f.Err)
}

// Unwrap returns the reason.
func (f *Fault) Unwrap() error { return f.Err }

var errLong = fmt.Errorf("it is longer than %d bytes, and is left out", mostLine)

// lines calls do with each whole line that is no longer than mostLine, and with nil for one that
// is. A last line that does not end is left out: its writer was killed. The line is only valid
// until do returns; do ends it all with false.
func lines(r io.Reader, do func(n int, line []byte) bool) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var long []byte
	tooLong := false
	for n := 1; ; {
		part, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		if tooLong = tooLong || len(long)+len(part) > mostLine+1; tooLong {
			long = long[:0]
		} else if err != nil || len(long) > 0 {
			long = append(long, part...)
			part = long
		}
		if err != nil {
			continue
		}
		line := part[:len(part)-1]
		if tooLong {
			line = nil
		}
		if !do(n, line) {
			return nil
		}
		n, tooLong, long = n+1, false, long[:0]
	}
}

// header are the fields of a line before its data.
type header struct {
	Seq  int64     `json:"seq"`
	Time time.Time `json:"time"`
	Run  string    `json:"run"`
	Type string    `json:"type"`
}

// headerOf reads the fields before the data. It takes the line that this package writes apart
// without reading its data, which are most of a log; other lines are read as JSON.
func headerOf(line []byte) (header, error) {
	if len(line) == 0 || line[len(line)-1] != '}' {
		return header{}, errors.New("it is no JSON object")
	}
	h, ok := quickHeader(line)
	if !ok {
		if err := json.Unmarshal(line, &h); err != nil {
			return h, err
		}
	}
	if h.Type == "" {
		return h, errors.New("it has no type")
	}
	return h, checkTime(h.Time)
}

// checkTime refuses times that cannot be written as JSON in UTC.
func checkTime(t time.Time) error {
	if year := t.UTC().Year(); year < 1 || year > 9999 {
		return fmt.Errorf("its time is in the year %d", year)
	}
	return nil
}

func quickHeader(line []byte) (h header, ok bool) {
	seq, rest, ok := field(line, `{"seq":`, ',')
	if !ok {
		return h, false
	}
	at, rest, ok1 := field(rest, `"time":"`, '"')
	run, rest, ok2 := field(rest, `,"run":"`, '"')
	_, rest, ok3 := field(rest, `,"source":"`, '"')
	name, rest, ok4 := field(rest, `,"type":"`, '"')
	if !ok1 || !ok2 || !ok3 || !ok4 || !bytes.HasPrefix(rest, []byte(`,"data":`)) {
		return h, false
	}
	var err, err2 error
	h.Seq, err = strconv.ParseInt(string(seq), 10, 64)
	h.Time, err2 = time.Parse(time.RFC3339Nano, string(at))
	h.Run, h.Type = string(run), string(name)
	return h, err == nil && err2 == nil && h.Type != ""
}

// field cuts a field without escapes off.
func field(text []byte, before string, end byte) (value, rest []byte, ok bool) {
	text, ok = bytes.CutPrefix(text, []byte(before))
	if !ok {
		return nil, nil, false
	}
	i := bytes.IndexByte(text[:min(len(text), 256)], end)
	if i < 0 || bytes.IndexByte(text[:i], '\\') >= 0 {
		return nil, nil, false
	}
	return text[:i], text[i+1:], true
}
