package transfer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/bootid"
)

const (
	incomplete    = ".incomplete"
	sidecarSuffix = ".ranges"
	newSuffix     = ".new" // of a sidecar that replaces another one
	lockSuffix    = ".lock"
	compactAt     = 64 << 10 // bytes of a sidecar
)

// sidecar is the file beside an incomplete one that records which of its bytes are on
// disk. Its first line says what the file is to become. Each other line is a range with
// a checksum of the line: "START END CRC32C". Lines are only appended, so a process that
// is killed damages at most the last one, which the next process ignores.
//
// A range that is written and perhaps not on the disk yet has a line with the ID of the
// system's present start: "START END BOOT CRC32C". It counts until the next start, so that a
// process that is killed loses no more than the block that it was writing.
type sidecar struct {
	path   string
	header []byte
	boot   string // empty = the system tells none

	mu       sync.Mutex
	recorded ranges // on the disk
	noted    ranges // written since the system started
	file     *os.File
	size     int64
}

func newSidecar(path string, f File) *sidecar {
	header, err := json.Marshal(struct {
		Version int    `json:"version"`
		Size    int64  `json:"size"`
		SHA256  string `json:"sha256,omitempty"`
		GitSHA1 string `json:"git_sha1,omitempty"`
	}{1, f.Size, f.SHA256, f.GitSHA1})
	if err != nil {
		panic(err) // strings and numbers
	}
	return &sidecar{path: path, header: append(header, '\n'), boot: bootid.Read()}
}

// load reads what is recorded. A sidecar of another file records nothing.
func (s *sidecar) load() error {
	data, err := readRegular(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	lines, ours := bytes.CutPrefix(data, s.header)
	for ours && len(lines) > 0 {
		line, rest, whole := bytes.Cut(lines, []byte("\n"))
		found, boot, ok := parseLine(line)
		if !whole || !ok {
			break
		}
		switch boot {
		case "":
			s.recorded.add(found)
		case s.boot:
			s.noted.add(found)
		}
		lines = rest
	}
	return nil
}

func readRegular(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is not a regular file; remove it", path))
	}
	var data bytes.Buffer
	_, err = data.ReadFrom(f)
	return data.Bytes(), err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func formatLine(s span, boot string) []byte {
	text := fmt.Sprintf("%d %d", s.start, s.end)
	if boot != "" {
		text += " " + boot
	}
	return fmt.Appendf(nil, "%s %08x\n", text, crc32.Checksum([]byte(text), castagnoli))
}

func parseLine(line []byte) (s span, boot string, ok bool) {
	words := strings.Fields(string(line))
	if len(words) == 4 {
		boot = words[2]
	}
	n, err := fmt.Sscanf(string(line), "%d %d", &s.start, &s.end)
	ok = n == 2 && err == nil && 0 <= s.start && s.start < s.end
	return s, boot, ok && string(line)+"\n" == string(formatLine(s, boot))
}

// begin writes what is recorded into a file of its own, and opens it for more.
func (s *sidecar) begin() error {
	if s.file != nil {
		return nil
	}
	text := bytes.Clone(s.header)
	for _, r := range s.recorded {
		text = append(text, formatLine(r, "")...)
	}
	for _, r := range s.noted {
		text = append(text, formatLine(r, s.boot)...)
	}
	f, err := os.OpenFile(s.path+newSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	s.file, s.size = f, int64(len(text))
	if _, err := f.Write(text); err != nil {
		return state.NoSpace(s.path, err)
	}
	if err := f.Sync(); err != nil {
		return state.NoSpace(s.path, err)
	}
	return os.Rename(f.Name(), s.path)
}

// record adds ranges that are on the disk.
func (s *sidecar) record(there ranges) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(&s.recorded, there, "")
}

// note adds ranges that are written.
func (s *sidecar) note(there ranges) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.boot == "" {
		return nil
	}
	return s.add(&s.noted, there, s.boot)
}

// known are all ranges that count. Nobody may write at the time.
func (s *sidecar) known() ranges {
	all := slices.Clone(s.recorded)
	for _, r := range s.noted {
		all.add(r)
	}
	return all
}

// add appends what a set lacks. s.mu is held.
func (s *sidecar) add(to *ranges, there ranges, boot string) error {
	var text []byte
	for _, r := range there {
		for _, fresh := range to.missing(r) {
			text = append(text, formatLine(fresh, boot)...)
		}
	}
	for _, r := range there {
		to.add(r)
	}
	if len(text) == 0 {
		return nil
	}
	if s.size > compactAt {
		s.close()
	}
	if s.file == nil {
		return s.begin()
	}
	n, err := s.file.Write(text)
	s.size += int64(n)
	return state.NoSpace(s.path, err)
}

func (s *sidecar) close() {
	if s.file != nil {
		_ = s.file.Close() // the next process checks each line
		s.file = nil
	}
}

// remove deletes the sidecar: nothing is recorded then.
func (s *sidecar) remove() error {
	s.close()
	s.recorded, s.noted = nil, nil
	return errors.Join(removeIfThere(s.path+newSuffix), removeIfThere(s.path))
}

func removeIfThere(path string) error {
	if err := unix.Unlink(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // os.Remove would also try a folder
		return &fs.PathError{Op: "remove", Path: path, Err: err}
	}
	return nil
}
