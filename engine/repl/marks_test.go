package repl

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// Marks are found however the stream is cut, and nothing else is lost.
func FuzzMarks(f *testing.F) {
	f.Add([]byte("a\x00seer-N begin x-1\nb\x00seer-N end x-1 ok\nc"), 3)
	f.Add([]byte("\x00\x00seer-\x00seer-N \nx"), 1)
	f.Add([]byte("\x00seer-N "+strings.Repeat("y", 5000)), 100)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		read := func(size int) (text, marked string) {
			var b bytes.Buffer
			m := newMarks("N", func(p []byte) error { b.Write(p); return nil }, func(w []string) error { marked += strings.Join(w, " ") + "\n"; return nil })
			for rest := data; len(rest) > 0; {
				n := min(max(size, 1), len(rest))
				if _, err := m.Write(rest[:n]); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if len(m.kept) > maxMark+len(m.prefix) {
				t.Errorf("%d bytes are kept", len(m.kept))
			}
			return b.String() + string(m.kept), marked
		}
		text, marked := read(len(data))
		// Where a mark is too long depends on how it was cut.
		if again, markedAgain := read(size % 64); len(data) < maxMark && (again != text || markedAgain != marked) {
			t.Errorf("in pieces: %q %q, as a whole: %q %q", again, markedAgain, text, marked)
		}
	})
}

func TestOnlyWhatBelongsToTheCodeIsTaken(t *testing.T) {
	run := NewRun("x-1")
	run.Nonce = "N"
	var stdout, stderr bytes.Buffer
	out, errs := run.Readers(&stdout, &stderr)
	write := func(w interface{ Write([]byte) (int, error) }, text string) error {
		_, err := w.Write([]byte(strings.ReplaceAll(text, "@", "\x00seer-N ")))
		return err
	}
	if err := write(out, "of before@begin x-0\nother@result\n5@end x-0 ok\nbetween@begin x-1\nmine@image i image/png\nmore@result\n42@end x-1 ok\n"); err != nil {
		t.Fatal(err)
	}
	if err := write(errs, "noise@begin x-0\nno@end x-0 ok\n@begin x-1\nyes@end x-1 ok\n"); !errors.Is(err, ErrEnough) {
		t.Fatalf("the end: %v", err)
	}
	if stdout.String() != "minemore" || stderr.String() != "yes" || run.Result.String() != "42" || len(run.Images) != 1 || run.Status != OK {
		t.Errorf("stdout %q, stderr %q, %+v", stdout.String(), stderr.String(), run)
	}
}

func TestClipsKeepBothEnds(t *testing.T) {
	for _, size := range []int{1, 7, 1000, half, MaxOutput, 3 * MaxOutput} {
		var c Clip
		data := bytes.Repeat([]byte("0123456789"), 5000)
		for rest := data; len(rest) > 0; {
			n := min(size, len(rest))
			c.Write(rest[:n])
			rest = rest[n:]
		}
		if !bytes.Equal(c.head, data[:half]) || !bytes.Equal(c.tail, data[len(data)-half:]) || c.size != int64(len(data)) {
			t.Errorf("written by %d: %d and %d bytes", size, len(c.head), len(c.tail))
		}
	}
}
