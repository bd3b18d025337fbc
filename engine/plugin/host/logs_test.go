package host

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/internal/attack"
)

func TestAttacksOnLogs(t *testing.T) {
	attack.Run(t, []attack.Row{
		{Name: "plugin-prints-its-memory", Want: "the host has taken", Try: printMemory},
	})
}

// printMemory writes what a plugin may have as memory at once. It succeeds if the host
// takes as much memory for that.
func printMemory(t *testing.T, defended bool) error {
	const size = 64 << 20
	var shown bytes.Buffer
	log := &callLog{sink: &logSink{log: hclog.New(&hclog.LoggerOptions{Output: &shown, Level: hclog.Debug}), scrub: func(s string) string { return s }}, whole: !defended}
	log.reset(lineBytes)
	text := bytes.Repeat([]byte("x"), size)
	copy(text[size-12:], "\npanic: why\n")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if n, err := log.Write(text); n != size || err != nil {
		t.Fatal(n, err)
	}
	runtime.ReadMemStats(&after)
	if log.reason() != "why" || strings.Count(shown.String(), "logs too much") != 1 {
		t.Errorf("the reason is %q, and the log %.200s", log.reason(), &shown)
	}
	if taken := after.TotalAlloc - before.TotalAlloc; taken < size {
		return fmt.Errorf("the host has taken %d bytes", taken)
	}
	return nil
}
