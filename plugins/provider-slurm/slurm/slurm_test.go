package slurm

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/internal/testprovider"
	"github.com/seer-engine/seer/sdk"
)

func TestOffers(t *testing.T) {
	t.Parallel()
	c := &cluster{usual: "login", answers: map[string]string{offersScript: offered}}
	for query, want := range map[*sdk.OfferQuery]string{
		{GPU: "A100"}:                         "login/gpu/a100=low login/debug/a100=low",
		{GPU: "*", GPUCount: 4}:               "login/gpu/a100= login/debug/a100=", // a job waits
		{GPU: "A100", GPUCount: 5}:            "",
		{GPU: "H100"}:                         "",
		{}:                                    "login/gpu/=medium login/debug/=medium login/cpu/=",
		{CPU: 9}:                              "login/cpu/=",
		{MemoryGB: 100}:                       "login/cpu/=",
		{Options: raw(`{"partition":"cpu"}`)}: "login/cpu/=",
		{TimeoutSeconds: 3600}:                "login/gpu/=medium login/cpu/=",
		{TimeoutSeconds: 3600, Options: raw(`{"partition":"debug"}`)}: "login/debug/=medium", // the start says why not
		{Regions: []string{"elsewhere"}}:                              "",
	} {
		offers, err := c.provider().Offers(t.Context(), *query)
		var got []string
		for _, o := range offers {
			got = append(got, o.ID+"="+string(o.Stock))
			if o.Region != "login" || (o.GPU == "A100") != (query.GPU != "") {
				t.Errorf("%+v", o)
			}
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%+v: %q, %v", query, got, err)
		}
	}
	_, err := c.provider().Offers(t.Context(), sdk.OfferQuery{Options: raw(`{"partition":"gpus"}`)})
	testkit.WantCode(t, err, sdk.Invalid, "no partition gpus; did you mean gpu?", "gpu, debug, cpu")
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]string{
		"": "SEER_SLURM_HOST", `[]`: "must be a mapping", `{"partitions":"a"}`: `no "partitions"`, `{"setup":"a"}`: "lists of texts",
		`{"account":"a b"}`: "one word", `{"modules":["a';b"]}`: "one word",
	} {
		_, err := (&cluster{}).provider().Offers(t.Context(), sdk.OfferQuery{Options: raw(options)})
		testkit.WantCode(t, err, sdk.Invalid, want)
	}
}

func TestReadWhatSlurmPrints(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[string]int{
		"(null)": {}, "gpu:4": {"": 4}, "gpu:a100:4(S:0-1),gpu:v100:2(S:0,3),shard:8": {"a100": 4, "v100": 2}, "gpu:a100:2(IDX:0,3)": {"a100": 2},
	} {
		if got := gres(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v", text, got)
		}
	}
	for text, want := range map[string]time.Duration{
		"30:00": 30 * time.Minute, "1:00:00": time.Hour, "2-01:00:30": 49*time.Hour + 30*time.Second, "infinite": 0, "n/a": 0,
	} {
		if got := duration(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestCreate(t *testing.T) {
	t.Parallel()
	c := &cluster{usual: "login", answers: map[string]string{offersScript: offered, submitScript: "job|17\n"}}
	s := spec(func(s *sdk.MachineSpec) {
		s.GPU, s.GPUCount, s.CPU, s.MemoryGB, s.Offer = "A100", 2, 1.5, 2, "login/debug/a100"
		s.Options = raw(`{"account":"acc","qos":"long","constraint":"nvlink","nodelist":"gpu1","exclude":"gpu9","modules":["python/3.12"],"setup":["export A=1"]}`)
	})
	step, err := c.provider().Create(t.Context(), s, nil)
	if err != nil || step.Handle != "login/17/seer-k1" {
		t.Fatalf("%+v, %v", step, err)
	}
	want := []string{"seer-k1", "own-1", "0", sdk.SSHProgram,
		"#!/bin/bash -l\nexport SEER_JOB_END=$(($(date +%s) + 1320))\nmodule load 'python/3.12' || { echo \"module load fails\"; exit 1; }\nexport A=1\nexec \"$1\" job serve \"$2\"",
		"--nodes=1", "--ntasks=1", "--no-requeue", "--signal=B:USR1@60", "--partition=debug", "--time=22", "--gres=gpu:a100:2",
		"--cpus-per-task=2", "--mem=2348M", "--account=acc", "--qos=long", "--constraint=nvlink", "--nodelist=gpu1", "--exclude=gpu9"}
	if !slices.Equal(c.asked[0], want) {
		t.Errorf("sbatch was asked\n%q\nand not\n%q", c.asked[0], want)
	}
	var sent sdk.MachineSpec
	if err := json.Unmarshal(c.stdin, &sent); err != nil || sent.Key != "seer-k1" || sent.Options != nil || sent.Offer != "" {
		t.Errorf("%s, %v", c.stdin, err)
	}
}

// Without an offer, the partition with what is free is taken.
func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*sdk.MachineSpec){
		"whole GPUs":               func(s *sdk.MachineSpec) { s.GPUShare = &sdk.GPUShare{Parts: 2} },
		"has 1 × H100":             func(s *sdk.MachineSpec) { s.GPU = "H100" },
		"nodes have 4 × A100":      func(s *sdk.MachineSpec) { s.GPU = "H100" },
		"100 cores":                func(s *sdk.MachineSpec) { s.CPU = 100 },
		"allows jobs of 30m0s":     func(s *sdk.MachineSpec) { s.Offer, s.TimeoutSeconds = "login/debug/", 3600 },
		"did you mean debug?":      func(s *sdk.MachineSpec) { s.Options = raw(`{"partition":"debgu"}`) },
		"set sandbox.timeout":      func(s *sdk.MachineSpec) { s.TimeoutSeconds = 0 },
		"no key of a machine":      func(s *sdk.MachineSpec) { s.Key = "../x" },
		"host gone cannot be reac": func(s *sdk.MachineSpec) { s.Options = raw(`{"host":"gone"}`) },
	} {
		c := &cluster{usual: "login", answers: map[string]string{offersScript: offered}}
		_, err := c.provider().Create(t.Context(), spec(change), nil)
		if err == nil || !strings.Contains(err.Error(), want) || len(c.asked) > 0 {
			t.Errorf("%s: %v, %q", want, err, c.asked)
		}
	}
}

func TestSbatchRefuses(t *testing.T) {
	t.Parallel()
	for stderr, want := range map[string]sdk.Code{
		"sbatch: error: invalid partition specified: x\nsbatch: error: Batch job submission failed: Invalid partition name specified\n":                                              sdk.Invalid,
		"sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified\n":                                                                   sdk.Invalid,
		"sbatch: error: Batch job submission failed: Requested node configuration is not available\n":                                                                                sdk.Unsupported,
		"sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)\n": sdk.NoCapacity,
		"sbatch: error: Batch job submission failed: Invalid feature specification\n":                                                                                                sdk.Invalid,
	} {
		c := &cluster{usual: "login", answers: map[string]string{offersScript: offered}, code: codeRefused, stderr: stderr}
		_, err := c.provider().Create(t.Context(), spec(nil), nil)
		testkit.WantCode(t, err, want, "on login: Slurm refuses the job: ")
		if strings.Contains(err.Error(), "sbatch") {
			t.Error(err)
		}
	}
}

const (
	head     = "job|17|"
	running  = head + "RUNNING|None|2026-11-28T17:59:54|2026-11-28T17:59:53|gpu1|seer-k1\n"
	isThere  = `state|17|{"handle":"m1","state":"running","endpoints":[{"port":8717,"url":"unix:/tmp/seer-1-job17/r/m1/s"},{"port":80,"url":"http://127.0.0.1:4711"}],"isolation":"bubblewrap"}` + "\n"
	hasEnded = `state|17|{"handle":"","state":"failed","message":"it ended with exit code 3: no"}` + "\n"
)

func gone(state string) string { return "\nnow|2026-11-28T18:00:00\npast|17|" + state + "\n" }

func TestObserve(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		said    string
		state   sdk.State
		code    sdk.Code
		message string
	}{
		"waits": {head + "PENDING|Priority|2026-11-28T18:09:54|2026-11-28T17:59:50||seer-k1\nnow|2026-11-28T18:00:00\nplace|17|4|gpu\n", sdk.Pending, "",
			"job 17 waits for jobs of higher priority (place 4 in the partition gpu); Slurm expects it to start at 2026-11-28 18:09 UTC"},
		"waits, unknown why": {head + "PENDING|FrontEndDown|N/A|2026-11-28T17:59:50||seer-k1\nnow|x\n", sdk.Pending, "", "job 17 waits: FrontEndDown"},
		"waits for a limit":  {head + "PENDING|QOSMaxGRESPerUser|N/A|2026-11-28T17:59:50||seer-k1\nnow|x\n", sdk.Pending, "", "job 17 waits, as its account or QOS is at a limit (QOSMaxGRESPerUser)"},
		"above a limit":      {head + "PENDING|AssocMaxWallDurationPerJobLimit|N/A|x||seer-k1\n", sdk.Failed, sdk.Invalid, "can never start: its account or QOS does not allow such jobs (AssocMaxWall"},
		"cannot start":       {head + "PENDING|PartitionTimeLimit|N/A|2026-11-28T17:59:50||seer-k1\n", sdk.Failed, sdk.Invalid, "can never start: its time is above the limit"},
		"begins":             {running, sdk.Starting, "", "job 17 runs on gpu1"},
		"runs":               {running + isThere, sdk.Running, "", "job 17 runs on gpu1"},
		"is about to end":    {running + hasEnded, sdk.Unreachable, "", "about to end"},
		"suspended":          {head + "SUSPENDED|None|x|x|gpu1|seer-k1\n" + isThere, sdk.Unreachable, "", "suspended"},
		"ended by itself":    {head + "FAILED|NonZeroExitCode|x|x|gpu1|seer-k1\n" + hasEnded, sdk.Failed, "", "it ended with exit code 3: no"},
		"time":               {head + "TIMEOUT|TimeLimit|x|x|gpu1|seer-k1\n" + isThere, sdk.Stopped, "", "has reached its time limit"},
		"cancelled":          {head + "CANCELLED|None|x|x|gpu1|seer-k1\n" + isThere, sdk.Stopped, "", "was cancelled (scancel)"},
		"preempted":          {head + "PREEMPTED|None|x|x|gpu1|seer-k1\n" + isThere, sdk.Failed, sdk.NoCapacity, "was preempted"},
		"node":               {head + "NODE_FAIL|None|x|x|gpu1|seer-k1\n" + isThere, sdk.Failed, sdk.Unavailable, "has lost gpu1, which failed"},
		"memory":             {head + "OUT_OF_MEMORY|None|x|x|gpu1|seer-k1\n" + isThere, sdk.Failed, sdk.Unavailable, "raise sandbox.memory"},
		"failed":             {head + "FAILED|None|x|x|gpu1|seer-k1\nlog|17|module load fails\n", sdk.Failed, sdk.Unavailable, "failed: module load fails"},
		"killed":             {head + "FAILED|JobLaunchFailure|x|x|gpu1|seer-k1\n" + isThere + "log|17|a line\n", sdk.Failed, sdk.Unavailable, "was killed on gpu1"},
		"gone, accounting":   {gone("CANCELLED by 2001") + isThere, sdk.Stopped, "", "was cancelled (scancel)"},
		"gone, time":         {gone("TIMEOUT") + isThere, sdk.Stopped, "", "has reached its time limit"},
		"gone":               {gone("") + isThere, sdk.Stopped, "", "no longer known to Slurm"},
		"gone, and told":     {gone("") + hasEnded, sdk.Failed, "", "it ended with exit code 3: no"},
	} {
		l := &cluster{answers: map[string]string{observeScript: c.said}}
		seen, err := l.provider().Observe(t.Context(), []string{"login/17/seer-k1"})
		if err != nil || len(seen) != 1 {
			t.Fatal(seen, err)
		}
		o := seen[0]
		if o.Handle != "login/17/seer-k1" || o.State != c.state || o.Code != c.code || !strings.Contains(o.Message, c.message) {
			t.Errorf("%s: %+v", name, o)
		}
		for _, e := range o.Endpoints {
			if e.URL != sdk.RouteURL {
				t.Errorf("%s: %+v", name, e)
			}
		}
		if (c.state == sdk.Running) != (len(o.Endpoints) == 2) {
			t.Errorf("%s has %d addresses", name, len(o.Endpoints))
		}
		if name == "waits" && o.AfterSeconds != 2 {
			t.Errorf("the next look is after %v s", o.AfterSeconds)
		}
	}
}

func TestObserveManyAtOnce(t *testing.T) {
	t.Parallel()
	c := &cluster{answers: map[string]string{observeScript: running}}
	testprovider.WantStates(t, c.provider(), map[string]sdk.State{"login/17/seer-k1": sdk.Starting, "login/18/seer-k2": sdk.Stopped, "gone/1/seer-k3": sdk.Unreachable, "nothing": sdk.Stopped})
	if len(c.asked) != 1 || !slices.Equal(c.asked[0], []string{"17:seer-k1", "18:seer-k2"}) {
		t.Fatalf("asked %q", c.asked)
	}
	c.code, c.stderr = 1, "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"
	seen, err := c.provider().Observe(t.Context(), []string{"login/17/seer-k1"})
	if err != nil || seen[0].State != sdk.Unreachable || !strings.Contains(seen[0].Message, "Slurm does not answer") {
		t.Errorf("%+v, %v", seen, err)
	}
}

func TestRoute(t *testing.T) {
	t.Parallel()
	c := &cluster{answers: map[string]string{observeScript: running + isThere}}
	for port, target := range map[int]string{8717: "unix:/tmp/seer-1-job17/r/m1/s", 80: "tcp:4711"} {
		r, err := c.provider().Route(t.Context(), "login/17/seer-k1", port)
		if err != nil || r.SSH == nil || r.SSH.Host != "login" || r.SSH.Target != target || !slices.Equal(r.SSH.Command[4:], []string{"17", "seer-k1", sdk.SSHProgram}) {
			t.Errorf("%d: %+v, %v", port, r.SSH, err)
		}
	}
	_, err := c.provider().Route(t.Context(), "login/17/seer-k1", 81)
	testkit.WantCode(t, err, sdk.NotFound, "no port 81")
}

func TestListAndTerminate(t *testing.T) {
	t.Parallel()
	c := &cluster{usual: "login", answers: map[string]string{listScript: running + "dir|seer-k1|own-1|123|17\ndir|seer-k2|own-1|123|\ndir|seer-k3|own-2|1|19\ndir|seer-k4|own-1|5|16\n"}}
	list, err := c.provider().List(t.Context(), "own-1")
	if err != nil || !reflect.DeepEqual(list, []sdk.Listed{
		{Handle: "login/16/seer-k4", Key: "seer-k4", Owner: "own-1", State: sdk.Stopped, EndUnix: 5}, // Slurm has forgotten it
		{Handle: "login/17/seer-k1", Key: "seer-k1", Owner: "own-1", State: sdk.Starting, EndUnix: 123},
	}) {
		t.Errorf("%+v, %v", list, err)
	}
	c.used = []string{"gone"}
	list, err = c.provider().List(t.Context(), "own-1")
	if err != nil || len(list) != 3 || !slices.Contains(list, sdk.Listed{Handle: "gone/", Owner: "own-1", State: sdk.Unreachable, Message: "the host gone cannot be reached"}) {
		t.Errorf("%+v, %v", list, err)
	}
	_, err = (&cluster{usual: "gone"}).provider().List(t.Context(), "own-1")
	testkit.WantCode(t, err, sdk.Unavailable, "gone")
	c.asked = nil
	for _, handle := range []string{"login/17/seer-k1", "nothing"} {
		if err := c.provider().Terminate(t.Context(), handle); err != nil {
			t.Error(err)
		}
	}
	if len(c.asked) != 1 || !slices.Equal(c.asked[0], []string{"seer-k1"}) {
		t.Errorf("ended %q", c.asked)
	}
	c.code, c.stderr = codeEnding, "the job of seer-k1 does not end\n"
	testkit.WantCode(t, c.provider().Terminate(t.Context(), "login/17/seer-k1"), sdk.Unavailable, "does not end")
}
