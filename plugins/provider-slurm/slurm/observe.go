package slurm

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/sdk"
)

// job is what a cluster says of one job.
type job struct {
	id, state, reason string
	start, submit     string // as Slurm writes times, in UTC
	node, name        string
	place             string // in the queue of its partition
	partition         string
	said              *sdk.Observation // what Seer's program on the node has written
	log               string           // the last line of it
	now               string
}

// parseJobs reads the lines of observe.sh: a job for each number.
func parseJobs(lines [][]string) map[string]*job {
	jobs := map[string]*job{}
	at := func(id string) *job {
		if jobs[id] == nil {
			jobs[id] = &job{id: id}
		}
		return jobs[id]
	}
	now := ""
	for _, l := range lines {
		switch {
		case l[0] == "job" && len(l) == 8:
			j := at(l[1])
			j.state, j.reason, j.start, j.submit, j.node, j.name = l[2], l[3], l[4], l[5], l[6], l[7]
		case l[0] == "now" && len(l) == 2:
			now = l[1]
		case l[0] == "place" && len(l) == 4:
			at(l[1]).place, at(l[1]).partition = l[2], l[3]
		case l[0] == "past" && len(l) == 3:
			at(l[1]).state, _, _ = strings.Cut(l[2], " ") // sacct says CANCELLED by UID
		case l[0] == "log" && len(l) >= 3:
			at(l[1]).log = strings.Join(l[2:], "|")
		case l[0] == "state" && len(l) >= 3:
			var o sdk.Observation
			if json.Unmarshal([]byte(strings.Join(l[2:], "|")), &o) == nil {
				at(l[1]).said = &o
			}
		}
	}
	for _, j := range jobs {
		j.now = now
	}
	return jobs
}

// look asks a cluster for jobs, each JOB:KEY, in one go.
func (p *Provider) look(ctx context.Context, host string, jobs []string) (map[string]*job, error) {
	lines, err := p.run(ctx, host, observeScript, nil, jobs...)
	if err != nil {
		return nil, err
	}
	return parseJobs(lines), nil
}

// Observe implements [sdk.Provider]: each cluster is asked once, all at the same time. Of a job of
// a cluster that does not answer nobody knows that it has ended.
func (p *Provider) Observe(ctx context.Context, handles []string) ([]sdk.Observation, error) {
	asked := map[string][]string{} // by host
	var seen []sdk.Observation
	for _, handle := range handles {
		host, id, key, ok := split(handle)
		if !ok {
			seen = append(seen, sdk.Observation{Handle: handle, State: sdk.Stopped, Message: "it is not a machine of the provider slurm"})
			continue
		}
		asked[host] = append(asked[host], id+":"+key)
	}
	hosts := slices.Sorted(maps.Keys(asked))
	found := make([][]sdk.Observation, len(hosts))
	var work sync.WaitGroup
	for i, host := range hosts {
		work.Go(func() { found[i] = p.observeOn(ctx, host, asked[host]) })
	}
	work.Wait()
	return append(seen, slices.Concat(found...)...), nil
}

func (p *Provider) observeOn(ctx context.Context, host string, asked []string) (seen []sdk.Observation) {
	jobs, err := p.look(ctx, host, asked)
	for _, one := range asked {
		id, key, _ := strings.Cut(one, ":")
		o := sdk.Observation{State: sdk.Unreachable}
		if err != nil {
			o.Message = err.Error()
		} else {
			j := jobs[id]
			if j == nil {
				j = &job{id: id}
			}
			o = j.observation()
		}
		o.Handle = join(host, id, key)
		seen = append(seen, o)
	}
	return seen
}

// observation is what the state of a job means for its machine.
func (j *job) observation() sdk.Observation {
	o := sdk.Observation{State: sdk.Starting}
	if j.said != nil {
		o = *j.said
	}
	ended := j.said != nil && !j.said.State.Live()
	switch j.state {
	case "PENDING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT":
		return j.pending()
	case "CONFIGURING":
		return sdk.Observation{State: sdk.Starting, Message: fmt.Sprintf("job %s: the node %s is made ready", j.id, j.node)}
	case "SUSPENDED", "STOPPED":
		return sdk.Observation{State: sdk.Unreachable, Message: fmt.Sprintf("job %s is suspended by Slurm", j.id)}
	case "RUNNING", "RESIZING", "COMPLETING", "SIGNALING", "STAGE_OUT":
		if ended && j.state == "RUNNING" || j.state != "RUNNING" && j.state != "RESIZING" {
			return sdk.Observation{State: sdk.Unreachable, Message: fmt.Sprintf("job %s is about to end", j.id)}
		}
		for i := range o.Endpoints {
			o.Endpoints[i].URL = sdk.RouteURL
		}
		if o.Message == "" || o.State == sdk.Starting {
			o.Message = fmt.Sprintf("job %s runs on %s", j.id, j.node)
		}
		return o
	}
	return j.ended(o, ended)
}

// never are reasons with which a job waits for what cannot come.
var never = map[string]string{
	"PartitionTimeLimit": "its time is above the limit of the partition; lower sandbox.timeout",
	"PartitionNodeLimit": "it wants more nodes than the partition allows",
	"BadConstraints":     "no node has what it is limited to; see provider_options.slurm",
	"InvalidAccount":     "its account may not run jobs; see provider_options.slurm.account",
	"InvalidQOS":         "its QOS may not be used; see provider_options.slurm.qos",
}

// reasons in words; others are shown as they are.
var reasons = map[string]string{
	"None": "was submitted just now", "Resources": "waits for free nodes", "Priority": "waits for jobs of higher priority",
	"ReqNodeNotAvail": "the nodes that it could run on are down or reserved", "Licenses": "waits for licenses",
	"JobHeldUser": "you have held it; release it with scontrol release", "JobHeldAdmin": "an administrator has held it",
	"PartitionDown": "its partition takes no jobs now", "PartitionInactive": "its partition takes no jobs now",
	"BeginTime": "it may not begin yet",
}

// limited are reasons with which a job waits for a limit of its account or QOS. What exceeds a limit
// for each job by itself never starts.
var (
	limited = regexp.MustCompile(`^(Assoc|QOS|Max)`)
	tooMuch = regexp.MustCompile(`PerJob|^QOSMin`)
)

// layout is how Slurm writes times.
const layout = "2006-01-02T15:04:05"

func (j *job) pending() sdk.Observation {
	if why, ok := never[j.reason]; ok {
		return sdk.Observation{State: sdk.Failed, Code: sdk.Invalid, Message: fmt.Sprintf("job %s can never start: %s", j.id, why)}
	}
	reason, _, _ := strings.Cut(j.reason, ",") // a list of nodes may follow
	why, ok := reasons[reason]
	switch {
	case ok:
	case limited.MatchString(reason) && tooMuch.MatchString(reason):
		return sdk.Observation{State: sdk.Failed, Code: sdk.Invalid, Message: fmt.Sprintf(
			"job %s can never start: its account or QOS does not allow such jobs (%s); change what it asks for, or see provider_options.slurm.account and qos", j.id, reason)}
	case limited.MatchString(reason):
		why = fmt.Sprintf("waits, as its account or QOS is at a limit (%s)", reason)
	default:
		why = "waits: " + j.reason
	}
	text := fmt.Sprintf("job %s %s", j.id, why)
	if j.place != "" {
		text += fmt.Sprintf(" (place %s in the partition %s)", j.place, j.partition)
	}
	now, err := time.Parse(layout, j.now)
	if start, err2 := time.Parse(layout, j.start); err == nil && err2 == nil && start.After(now) {
		text += "; Slurm expects it to start at " + start.Format("2006-01-02 15:04") + " UTC"
	}
	o := sdk.Observation{State: sdk.Pending, Message: text}
	if submit, err2 := time.Parse(layout, j.submit); err == nil && err2 == nil {
		o.AfterSeconds = min(max(now.Sub(submit).Seconds()/5, 0), longest)
	}
	return o
}

// longest is the time between two questions for a job that has waited long, in seconds.
const longest = 30

// ended says why a job has ended. said is what Seer's program wrote last, which knows that it has
// ended, or was killed before.
func (j *job) ended(said sdk.Observation, knows bool) sdk.Observation {
	end := func(state sdk.State, code sdk.Code, format string, args ...any) sdk.Observation {
		return sdk.Observation{State: state, Code: code, Message: fmt.Sprintf("job "+j.id+" "+format, args...), Isolation: said.Isolation}
	}
	node := j.node
	if node == "" {
		node = "its node"
	}
	switch j.state {
	case "TIMEOUT", "DEADLINE":
		return end(sdk.Stopped, "", "has reached its time limit")
	case "PREEMPTED":
		return end(sdk.Failed, sdk.NoCapacity, "was preempted: Slurm has given its node to a job of higher priority")
	case "NODE_FAIL":
		return end(sdk.Failed, sdk.Unavailable, "has lost %s, which failed", node)
	case "BOOT_FAIL", "LAUNCH_FAILED":
		return end(sdk.Failed, sdk.Unavailable, "could not start on %s; have the cluster's administrators look at it", node)
	case "CANCELLED", "REVOKED":
		return end(sdk.Stopped, "", "was cancelled (scancel), by you or an administrator")
	case "OUT_OF_MEMORY":
		return end(sdk.Failed, sdk.Unavailable, "was killed as it used more memory than it has; raise sandbox.memory")
	}
	switch {
	case knows:
		said.Endpoints = nil
		return said
	case j.state == "COMPLETED":
		return end(sdk.Stopped, "", "has ended")
	case j.state == "":
		return end(sdk.Stopped, "", "is no longer known to Slurm")
	case j.said != nil && j.said.State == sdk.Running:
		return end(sdk.Failed, sdk.Unavailable, "was killed on %s, with Seer's program in it", node)
	case j.log != "":
		return end(sdk.Failed, sdk.Unavailable, "failed: %s", j.log)
	}
	return end(sdk.Failed, sdk.Unavailable, "failed (%s), and said nothing", strings.ToLower(j.state))
}
