package plugintest

import (
	"bytes"
	"fmt"
	"io"

	"github.com/seer-engine/seer/sdk/sdktest"
)

// Text writes a report for people: failures first, then what was left out, then figures
// and notes, then one line with the count.
func Text(w io.Writer, r sdktest.Report) error {
	var out bytes.Buffer
	for _, part := range []struct {
		status sdktest.Status
		title  string
	}{{sdktest.Failed, "failed"}, {sdktest.Skipped, "left out"}, {sdktest.Passed, "noted"}} {
		for _, result := range r.Results {
			if result.Status == part.status && (result.Detail != "" || part.status == sdktest.Failed) {
				fmt.Fprintf(&out, "%-9s %s\n          %s\n", part.title, result.Check, result.Detail)
			}
		}
	}
	name := r.Plugin
	if r.Version != "" {
		name += " " + r.Version
	}
	verdict := "fulfils its contract, as far as was tried"
	if !r.OK() {
		verdict = "does not fulfil its contract"
	}
	fmt.Fprintf(&out, "%s %s: %d passed, %d failed, %d left out\n", name, verdict, r.Count(sdktest.Passed), r.Count(sdktest.Failed), r.Count(sdktest.Skipped))
	_, err := w.Write(out.Bytes())
	return err
}
