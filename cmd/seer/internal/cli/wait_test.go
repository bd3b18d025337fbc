package cli

import (
	"io"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/engine"
)

func TestWaitFlags(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args []string
		want time.Duration // below 0 = an error
	}{
		{nil, 0}, {[]string{"--wait"}, forever}, {[]string{"--wait=false"}, 0}, {[]string{"--max-wait", "90m"}, 90 * time.Minute},
		{[]string{"--wait", "--max-wait", "2s"}, 2 * time.Second}, {[]string{"--max-wait", "2s", "--wait"}, 2 * time.Second},
		{[]string{"--max-wait", "-2s"}, -1}, {[]string{"--max-wait", "0"}, -1}, {[]string{"--max-wait", "soon"}, -1}, {[]string{"--wait=soon"}, -1},
	} {
		var o engine.CheckOptions
		c := &cobra.Command{Use: "x", RunE: func(*cobra.Command, []string) error { return nil }}
		AddWait(c, &o)
		c.SetArgs(tc.args)
		c.SetOut(io.Discard)
		c.SetErr(io.Discard)
		if err := c.Execute(); (err != nil) != (tc.want < 0) || err == nil && o.MaxWait != tc.want {
			t.Errorf("%q: %s, %v", tc.args, o.MaxWait, err)
		}
	}
}
