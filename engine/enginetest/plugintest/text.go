package plugintest

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/seer-engine/seer/sdk/sdktest"
)

// Text writes a report for people: failures first, then what was left out, then figures
// and notes, then one line with the count. What was left out for one reason stands together.
func Text(w io.Writer, r sdktest.Report) error {
	var out bytes.Buffer
	for _, part := range []struct {
		status sdktest.Status
		title  string
	}{{sdktest.Failed, "failed"}, {sdktest.Skipped, "left out"}, {sdktest.Passed, "noted"}} {
		told := map[string]bool{}
		for _, result := range r.Results {
			if result.Status != part.status || told[result.Detail] || result.Detail == "" && part.status != sdktest.Failed {
				continue
			}
			names := result.Check
			if part.status == sdktest.Skipped {
				told[result.Detail] = true
				names = together(r.Results, result.Detail)
			}
			fmt.Fprintf(&out, "%-9s %s\n%s%s\n", part.title, names, margin, strings.ReplaceAll(result.Detail, "\n", "\n"+margin))
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

const margin = "          "

// together names the checks that were left out for one reason, in lines that can be read.
func together(results []sdktest.Result, why string) string {
	lines := []string{""}
	for _, r := range results {
		if r.Status != sdktest.Skipped || r.Detail != why {
			continue
		}
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = r.Check
		case len(*last)+len(r.Check) > 90:
			*last += ","
			lines = append(lines, r.Check)
		default:
			*last += ", " + r.Check
		}
	}
	return strings.Join(lines, "\n"+margin)
}

// amount is so many bytes, for people.
func amount(bytes int64) string {
	switch {
	case bytes < 1<<10:
		return fmt.Sprintf("%d bytes", bytes)
	case bytes < 1<<20:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}
