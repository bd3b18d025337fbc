package doctor

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// above are the names of files above the workspace that agents would read as instructions.
var above = []string{"CLAUDE.md", "AGENTS.md", "GEMINI.md"}

// instructions are the files below the user's home in which agents look for instructions.
var instructions = []string{
	".claude/CLAUDE.md", ".codex/AGENTS.md", ".codex/AGENTS.override.md", ".gemini/GEMINI.md", ".config/opencode/AGENTS.md",
	".config/AGENTS.md", ".agents/AGENTS.md", "CLAUDE.md", "AGENTS.md", "GEMINI.md",
}

const (
	maxInstructions = 1 << 20 // bytes of a file that are read
	minLine         = 16      // bytes; shorter lines may be in any prompt
)

// own finds the longest line of each of the user's own instructions.
func own(home string) map[string]string {
	lines := map[string]string{}
	if home == "" {
		return lines
	}
	for _, name := range instructions {
		path := filepath.Join(home, filepath.FromSlash(name))
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if line := longest(path); len(line) >= minLine {
			lines[path] = line
		}
	}
	return lines
}

func longest(path string) (line string) {
	f, err := os.Open(path)
	if err != nil {
		return "" // the program cannot read it either
	}
	defer f.Close()
	scanner := bufio.NewScanner(io.LimitReader(f, maxInstructions))
	for scanner.Scan() {
		if text := strings.TrimSpace(scanner.Text()); len(text) > len(line) {
			line = text
		}
	}
	return line
}

// arrived reports whether a text is in one of the requests to the model.
func (t *trial) arrived(text string) bool {
	for _, e := range t.requests {
		if within(e.Request, text) {
			return true
		}
	}
	return false
}

// within reports whether a text is in a string of a JSON value.
func within(raw json.RawMessage, text string) bool {
	var value any
	return json.Unmarshal(raw, &value) == nil && holds(value, text)
}

func holds(value any, text string) bool {
	switch v := value.(type) {
	case string:
		return strings.Contains(v, text)
	case []any:
		for _, item := range v {
			if holds(item, text) {
				return true
			}
		}
	case map[string]any:
		for key, item := range v {
			if strings.Contains(key, text) || holds(item, text) {
				return true
			}
		}
	}
	return false
}

// random returns a random word with a prefix.
func random(prefix string) string { return prefix + strconv.FormatUint(randomNumber(), 36) }

func randomNumber() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}
