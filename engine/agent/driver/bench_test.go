package driver_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/agent/driver"
)

// BenchmarkRun compares the drivers with reading the lines of the same output, per line.
func BenchmarkRun(b *testing.B) {
	for _, c := range []struct{ kind, file string }{{driver.Claude, "claude-tool"}, {driver.Codex, "codex-tool"}, {driver.ACP, "opencode-tool"}} {
		data, err := os.ReadFile("testdata/" + c.file + ".jsonl")
		if err != nil {
			b.Fatal(err)
		}
		lines := strings.SplitAfter(string(data), "\n")
		middle := strings.Join(lines[3:len(lines)-2], "") // without what begins and ends a session
		count := len(lines) - 5
		b.Run(c.kind, func(b *testing.B) {
			all := strings.Repeat(middle, b.N/count+1)
			b.ResetTimer()
			speak(b, c.kind, strings.NewReader(all))
		})
		b.Run(c.kind+" read only", func(b *testing.B) {
			scanner := bufio.NewScanner(bytes.NewReader(bytes.Repeat([]byte(middle), b.N/count+1)))
			b.ResetTimer()
			for scanner.Scan() {
				io.WriteString(io.Discard, scanner.Text()) //nolint:errcheck // it keeps nothing
			}
		})
	}
}
