package sdktest

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// Check is one thing that a kit tries. The checks of one kit share its world and its
// machines: they are run one after the other, in their order, and the last ones judge
// what the others have seen and left behind.
type Check struct {
	Name string // group/name, stable
	Doc  string // what the contract promises, in one sentence

	always bool // it cleans up
	run    func(context.Context, *trial)
}

// Run tries it. A check that panics has failed.
func (c Check) Run(ctx context.Context) (r Result) {
	began, t := time.Now(), &trial{}
	defer func() {
		if v := recover(); v != nil {
			t.failf("the check itself panicked: %v\n%s", v, debug.Stack())
		}
		r = t.result(c)
		r.Seconds = time.Since(began).Seconds()
	}()
	if c.always {
		ctx = context.WithoutCancel(ctx)
	}
	if ctx.Err() != nil {
		t.skipf("the run was ended: %v", ctx.Err())
		return r
	}
	c.run(ctx, t)
	return r
}

// RunChecks runs all checks and passes each result to tell as it comes; tell may be nil. When
// ctx ends, it skips the remaining checks, but ends every rented machine.
func RunChecks(ctx context.Context, checks []Check, tell func(Result)) []Result {
	results := make([]Result, 0, len(checks))
	for _, c := range checks {
		r := c.Run(ctx)
		results = append(results, r)
		if tell != nil {
			tell(r)
		}
	}
	return results
}

// test makes a test of each check.
func test(t *testing.T, checks []Check) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.Name, func(t *testing.T) {
			switch r := c.Run(t.Context()); r.Status {
			case Failed:
				t.Errorf("%s\n\nThe contract: %s", r.Detail, c.Doc)
			case Skipped:
				t.Skip(r.Detail)
			case Passed:
				if r.Detail != "" {
					t.Log(r.Detail)
				}
			}
		})
	}
}

// trial collects what one check finds.
type trial struct {
	fails, notes []string
	skip         string
	lacks        []need   // that others build upon
	owners       []string // whose machines are ended when the check is over
}

func (t *trial) failf(format string, args ...any) {
	t.fails = append(t.fails, fmt.Sprintf(format, args...))
}
func (t *trial) notef(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}
func (t *trial) lack(n need)                      { t.lacks = append(t.lacks, n) }
func (t *trial) skipf(format string, args ...any) { t.skip = fmt.Sprintf(format, args...) }

// try notes err as a failure of what was tried, and reports whether there was none.
func (t *trial) try(what string, err error) bool {
	if err != nil {
		t.failf("%s: %v", what, err)
	}
	return err == nil
}

// number is how many there are of something that gets an s.
func number(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// maxFindings keeps the detail of a check that a person reads.
const maxFindings = 12

func (t *trial) result(c Check) Result {
	r := Result{Check: c.Name, Status: Passed, Detail: strings.Join(t.notes, "\n")}
	switch {
	case len(t.fails) > maxFindings:
		r.Status, r.Detail = Failed, strings.Join(t.fails[:maxFindings], "\n")+fmt.Sprintf("\nand %d more", len(t.fails)-maxFindings)
	case len(t.fails) > 0:
		r.Status, r.Detail = Failed, strings.Join(t.fails, "\n")
	case t.skip != "":
		r.Status, r.Detail = Skipped, t.skip
	}
	return r
}
