package machine_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/enginetest"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/sdk"
)

// What is logged of a passing failure is for people: its wait has no nanoseconds.
func TestTheLogOfAPassingFailure(t *testing.T) {
	b := newBench(t, enginetest.Script{Before: func(c enginetest.Call) error {
		if c.N <= 3 {
			return sdk.Errorf(sdk.Unavailable, "hiccup")
		}
		return nil
	}})
	var log strings.Builder
	d := machine.NewDriver(machine.Options{Ledger: b.ledger, Clock: b.clock, Providers: b.provider, Logger: hclog.New(&hclog.LoggerOptions{Output: &log})})
	if _, err := d.Offers(context.Background(), "cloud", sdk.OfferQuery{}); err != nil {
		t.Fatal(err)
	}
	if n := len(regexp.MustCompile(`wait=(\d+(\.\d)?s|\d00ms|0s) `).FindAllString(log.String(), -1)); n != 3 {
		t.Errorf("%d of 3 waits are rounded:\n%s", n, log.String())
	}
}
