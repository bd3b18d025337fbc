package cli

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine"
)

func TestExitCodesAreDocumented(t *testing.T) {
	kinds := []engine.Kind{
		engine.KindInternal, engine.KindConfig, engine.KindNotFound, engine.KindConflict, engine.KindPlugin, engine.KindProvider,
		engine.KindService, engine.KindCall, engine.KindInterrupted, engine.KindUnauthorized, engine.KindUnsupported, engine.KindNoSpace,
		engine.KindCancelled, engine.KindTimeout,
	}
	manual, err := os.ReadFile("../../../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]engine.Kind{}
	for _, k := range kinds {
		code := codeOfKind(k)
		if before, twice := seen[code]; twice {
			t.Errorf("%s and %s have the same code %d", before, k, code)
		}
		seen[code] = k
		if !strings.Contains(exitCodesText, fmt.Sprint(code)) || !bytes.Contains(manual, fmt.Appendf(nil, "| %d |", code)) {
			t.Errorf("the code %d of %s is not documented", code, k)
		}
	}
}

func TestASignalCountsMoreThanWhatItLedTo(t *testing.T) {
	failed := &engine.Error{Kind: engine.KindProvider, Err: fmt.Errorf("gone")}
	for _, c := range []struct {
		err  error
		sig  os.Signal
		want int
	}{
		{nil, nil, 0}, {failed, nil, exitProvider}, {failed, syscall.SIGINT, 130}, {nil, syscall.SIGTERM, 143},
		{PassThrough(9), syscall.SIGINT, 9}, {ExecFailure(failed), nil, exitExec}, {ExecFailure(failed), syscall.SIGINT, 130},
		{Usagef("no"), nil, ExitUsage}, {syscall.EPIPE, nil, 141}, {PassThrough(0), nil, 0},
	} {
		if got := ExitCode(c.err, c.sig); got != c.want {
			t.Errorf("%v after %v is %d, want %d", c.err, c.sig, got, c.want)
		}
	}
}
