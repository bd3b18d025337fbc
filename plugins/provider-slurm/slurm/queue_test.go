package slurm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/sdk"
)

// Slurm is asked when a job would start only where one might wait.
func TestEstimates(t *testing.T) {
	t.Parallel()
	const answer = "now|2026-11-28T18:00:00\nstart|2026-11-28T18:12:00\nstart|\n"
	for name, tc := range map[string]struct {
		pending, said string
		query         sdk.OfferQuery
		want          string
		asked, stdin  string
	}{
		"free, and nobody waits": {query: sdk.OfferQuery{GPU: "A100"}, want: "gpu/a100 0 , debug/a100 0 "},
		"free, and jobs wait": {pending: "pending|gpu|2\npending|gpu,cpu|1\n", said: answer, query: sdk.OfferQuery{GPU: "A100", GPUCount: 2, TimeoutSeconds: 600},
			want: "gpu/a100 720 3 jobs wait, debug/a100 0 ", stdin: "gpu 12 gpu:a100:2\n"},
		"full, and one test fails": {pending: "pending|debug|1\n", said: answer, query: sdk.OfferQuery{GPU: "A100", GPUCount: 4, CPU: 2, MemoryGB: 1, Options: raw(`{"account":"acc"}`)},
			want: "gpu/a100 720 , debug/a100 0 1 job waits", stdin: "gpu 62 gpu:a100:4\ndebug 30 gpu:a100:4\n", asked: "--cpus-per-task=2 --mem=1324M --account=acc"},
		"at once":          {said: "now|2026-11-28T18:00:00\nstart|2026-11-28T18:00:29\n", query: sdk.OfferQuery{CPU: 60}, want: "cpu/ 0 ", stdin: "cpu 62 \n", asked: "--cpus-per-task=60"},
		"in the past":      {said: "now|2026-11-28T18:00:00\nstart|2026-11-28T17:00:00\n", query: sdk.OfferQuery{CPU: 60}, want: "cpu/ 0 ", stdin: "cpu 62 \n"},
		"no time is known": {said: "start|2026-11-28T19:00:00\n", query: sdk.OfferQuery{CPU: 60}, want: "cpu/ 0 ", stdin: "cpu 62 \n"},
	} {
		c := &cluster{usual: "login", answers: map[string]string{offersScript: offered + tc.pending, queueScript: tc.said}}
		offers, err := c.provider().Offers(t.Context(), tc.query)
		var got []string
		for _, o := range offers {
			got = append(got, fmt.Sprintf("%s %g %s", strings.TrimPrefix(o.ID, "login/"), o.WaitSeconds, o.Queue))
		}
		if err != nil || strings.Join(got, ", ") != tc.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if string(c.stdin) != tc.stdin || len(c.asked) > 1 || tc.stdin == "" && len(c.asked) > 0 {
			t.Errorf("%s: asked %q, %q", name, c.asked, c.stdin)
		}
		if tc.asked != "" && (len(c.asked) != 1 || !strings.Contains(strings.Join(c.asked[0], " "), tc.asked) || slices.ContainsFunc(c.asked[0], func(a string) bool { return strings.HasPrefix(a, "--gres") })) {
			t.Errorf("%s: asked %q", name, c.asked)
		}
	}
	// What can be had is known even if Slurm does not say when.
	c := &cluster{usual: "login", answers: map[string]string{offersScript: offered}, code: 1}
	if offers, err := c.provider().Offers(t.Context(), sdk.OfferQuery{CPU: 60}); err != nil || len(offers) != 1 || offers[0].WaitSeconds != 0 {
		t.Errorf("%+v, %v", offers, err)
	}
}
