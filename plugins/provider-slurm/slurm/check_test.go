package slurm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/internal/testprovider"
	"github.com/seer-engine/seer/sdk"
)

// answered is what check.sh says on the cluster of offered, with accounting.
const answered = `part|gpu|up|2-00:00:00
part|debug|up|30:00
part|cpu|down|infinite
assoc|physics||normal,long
assoc|guests|debug|normal
qos|normal|
qos|long|12:00:00
`

func envelope(t *testing.T, findings ...sdk.Finding) string {
	t.Helper()
	return testkit.JSON(t, sdk.Envelope{OK: raw(testkit.JSON(t, findings))})
}

// checkOf has the cluster looked at, and gives its findings by name.
func checkOf(t *testing.T, c *cluster, q sdk.CheckQuery) map[string]sdk.Finding {
	t.Helper()
	return testprovider.Check(t, c.provider(), q)
}

func healthy(t *testing.T) *cluster {
	return &cluster{usual: "login", answers: map[string]string{
		offersScript: offered, checkScript: answered,
		programKey + "check": envelope(t, sdk.Finding{Name: "home folder", State: sdk.FindingOK, Detail: "shared"}, sdk.Finding{Name: "python", State: sdk.FindingFailed, Fix: "x"}),
		nodeScript:           envelope(t, sdk.Finding{Name: "python", State: sdk.FindingOK, Detail: "3.12"}),
	}}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options string
		query   sdk.CheckQuery
		about   string
		state   string
		text    string
	}{
		"login":          {about: "login to login", state: sdk.FindingOK, text: "Slurm answers"},
		"partition":      {about: "partition gpu on login", state: sdk.FindingOK, text: "up"},
		"named":          {options: `{"partition":"debug"}`, about: "partition debug on login", state: sdk.FindingOK, text: "up"},
		"down":           {options: `{"partition":"cpu"}`, about: "partition cpu on login", state: sdk.FindingFailed, text: "it is down"},
		"misspelt":       {options: `{"partition":"gpus"}`, about: "partition gpus on login", state: sdk.FindingFailed, text: "did you mean gpu?"},
		"GPUs":           {query: sdk.CheckQuery{GPU: "A100", GPUCount: 4}, about: "GPUs in the partition gpu", state: sdk.FindingOK, text: "2 nodes have 4 × A100, 0 of them free now"},
		"too many GPUs":  {query: sdk.CheckQuery{GPU: "A100", GPUCount: 8}, about: "GPUs in the partition gpu", state: sdk.FindingFailed, text: "no node has 8 × A100; nodes have 4 × A100"},
		"gres":           {options: `{"gres":"gpu:a100:2"}`, about: "GRES gpu:a100:2", state: sdk.FindingOK, text: "2 nodes"},
		"other gres":     {options: `{"gres":"gpu:h100:1"}`, about: "GRES gpu:h100:1", state: sdk.FindingFailed, text: "no node of the partition gpu has it"},
		"account":        {options: `{"account":"physics","qos":"long"}`, about: "account and QOS", state: sdk.FindingOK, text: "accounts physics"},
		"no account":     {options: `{"account":"guests"}`, about: "account and QOS", state: sdk.FindingFailed, text: "the account guests in the partition gpu"},
		"of a partition": {options: `{"account":"guests","partition":"debug"}`, about: "account and QOS", state: sdk.FindingOK, text: "guests"},
		"no QOS":         {options: `{"qos":"top"}`, about: "account and QOS", state: sdk.FindingFailed, text: "the QOS top"},
		"time":           {query: sdk.CheckQuery{TimeoutSeconds: 3600}, about: "time limit", state: sdk.FindingOK, text: "48h0m0s in the partition gpu"},
		"too long":       {options: `{"partition":"debug"}`, query: sdk.CheckQuery{TimeoutSeconds: 3600}, about: "time limit", state: sdk.FindingFailed, text: "allows jobs of 30m0s"},
		"QOS too short":  {options: `{"qos":"long"}`, query: sdk.CheckQuery{TimeoutSeconds: 86400}, about: "time limit", state: sdk.FindingFailed, text: "the QOS long allows jobs of 12h0m0s"},
		"login node":     {about: "home folder on login", state: sdk.FindingOK, text: "shared"},
		"no node":        {about: "compute node", state: sdk.FindingUnknown, text: "only from there"},
		"a node":         {query: sdk.CheckQuery{OnNode: true}, about: "python on a node", state: sdk.FindingOK, text: "3.12"},
	} {
		if c.query.Options = nil; c.options != "" {
			c.query.Options = raw(c.options)
		}
		found := checkOf(t, healthy(t), c.query)
		if f := found[c.about]; f.State != c.state || !strings.Contains(f.Detail, c.text) {
			t.Errorf("%s: %+v of %+v", name, f, found)
		}
		if _, ok := found["python on login"]; ok {
			t.Errorf("%s: no machine runs on the login node: %+v", name, found)
		}
	}
}

// A job is queued only where the query allows it, in the place that a machine would have.
func TestCheckOnNode(t *testing.T) {
	t.Parallel()
	c := healthy(t)
	checkOf(t, c, sdk.CheckQuery{GPU: "A100"})
	if slices.ContainsFunc(c.scripts, func(s string) bool { return s == nodeScript }) {
		t.Error("a job was queued that nobody allowed")
	}
	c = healthy(t)
	checkOf(t, c, sdk.CheckQuery{GPU: "A100", GPUCount: 2, OnNode: true, Isolation: "auto", PythonVersion: "3.12",
		Options: raw(`{"account":"physics","qos":"long","modules":["cuda/12"],"setup":["export A=1"]}`)})
	at := slices.Index(c.scripts, nodeScript)
	if at < 0 {
		t.Fatal("no job was queued")
	}
	line := strings.Join(c.asked[at], " ")
	for _, want := range []string{"--partition=gpu", "--gres=gpu:2", "--account=physics", "--qos=long", "/bin/bash -l -c", "module load 'cuda/12'\nexport A=1\nexec \"$1\" provider check-node"} {
		if !strings.Contains(line, want) {
			t.Errorf("%q is not in %q", want, line)
		}
	}
	for _, never := range []string{"--time=", "--signal", "--no-requeue"} {
		if strings.Contains(line, never) {
			t.Errorf("%q is in %q", never, line)
		}
	}
	var asked sdk.CheckQuery
	if err := json.Unmarshal(c.inputs[at], &asked); err != nil || asked.GPU != "A100" || asked.PythonVersion != "3.12" || asked.Options != nil || asked.Isolation != "" {
		t.Errorf("%+v, %v", asked, err)
	}
	c = healthy(t)
	c.answers[nodeScript] = ""
	if f := checkOf(t, c, sdk.CheckQuery{OnNode: true})["compute node"]; f.State != sdk.FindingUnknown || !strings.Contains(f.Fix, "partition gpu") {
		t.Errorf("%+v", f)
	}
}

func TestCheckOfWhatIsAway(t *testing.T) {
	t.Parallel()
	c := healthy(t)
	if found := checkOf(t, c, sdk.CheckQuery{Options: raw(`{"host":"gone"}`)}); len(found) != 1 || found["login to gone"].State != sdk.FindingFailed {
		t.Errorf("%+v", found)
	}
	c.answers[checkScript] = "part|gpu|up|infinite\nnoacct|sacctmgr: error: Slurm accounting storage is disabled\n"
	if f := checkOf(t, c, sdk.CheckQuery{Options: raw(`{"account":"x"}`)})["account and QOS"]; f.State != sdk.FindingUnknown || !strings.Contains(f.Detail, "storage is disabled") {
		t.Errorf("%+v", f)
	}
	if _, ok := checkOf(t, c, sdk.CheckQuery{})["account and QOS"]; ok {
		t.Error("without accounts in the options there is nothing to say")
	}
	_, err := c.provider().Check(t.Context(), sdk.CheckQuery{Options: raw(`{"hots":"x"}`)})
	testkit.WantCode(t, err, sdk.Invalid, `there is no "hots"`)
}

func TestClean(t *testing.T) {
	t.Parallel()
	c := &cluster{usual: "login", answers: map[string]string{
		cleanScript:          "gone|/home/me/.local/state/seer-slurm/seer-a|12\n",
		programKey + "clean": testkit.JSON(t, sdk.Envelope{OK: raw(`[{"name":"~/.cache/seer/models","bytes":5}]`)}),
	}}
	gone, err := c.provider().Clean(t.Context(), sdk.CleanInput{DryRun: true})
	if got := fmt.Sprint(gone); err != nil || got != "[{login:/home/me/.local/state/seer-slurm/seer-a 12288} {login:~/.cache/seer/models 5}]" {
		t.Errorf("%s, %v", got, err)
	}
	if !slices.Equal(c.asked[0], []string{"1"}) || !strings.Contains(string(c.inputs[1]), `"dry_run":true`) || !strings.Contains(string(c.inputs[1]), `"alone":true`) {
		t.Errorf("%q, %s", c.asked, c.inputs)
	}
	c.answers[cleanScript] = "busy|seer-b\n"
	c.scripts = nil
	if gone, err := c.provider().Clean(t.Context(), sdk.CleanInput{}); err != nil || len(gone) != 0 || len(c.scripts) != 1 {
		t.Errorf("with a job nothing of the cache goes: %v, %v, %d", gone, err, len(c.scripts))
	}
}
