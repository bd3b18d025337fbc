package transfer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"syscall"

	"github.com/seer-engine/seer/engine/state"
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
type sidecar struct {
	path     string
	header   []byte
	recorded ranges
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
	return &sidecar{path: path, header: append(header, '\n')}
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
		found, ok := parseLine(line)
		if !whole || !ok {
			break
		}
		s.recorded.add(found)
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

func formatLine(s span) []byte {
	text := fmt.Sprintf("%d %d", s.start, s.end)
	return fmt.Appendf(nil, "%s %08x\n", text, crc32.Checksum([]byte(text), castagnoli))
}

func parseLine(line []byte) (s span, ok bool) {
	n, err := fmt.Sscanf(string(line), "%d %d", &s.start, &s.end)
	ok = n == 2 && err == nil && 0 <= s.start && s.start < s.end
	return s, ok && bytes.Equal(append(line, '\n'), formatLine(s))
}

// begin writes what is recorded into a file of its own, and opens it for more.
func (s *sidecar) begin() error {
	if s.file != nil {
		return nil
	}
	text := bytes.Clone(s.header)
	for _, r := range s.recorded {
		text = append(text, formatLine(r)...)
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

// record adds ranges that are on disk.
func (s *sidecar) record(there ranges) error {
	var text []byte
	for _, r := range there {
		for _, fresh := range s.recorded.missing(r) {
			text = append(text, formatLine(fresh)...)
		}
	}
	for _, r := range there {
		s.recorded.add(r)
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
	s.recorded = nil
	return errors.Join(removeIfThere(s.path+newSuffix), removeIfThere(s.path))
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
