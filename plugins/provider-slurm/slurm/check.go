package slurm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/plugins/internal/bare"
	"github.com/seer-engine/seer/plugins/internal/nearest"
	"github.com/seer-engine/seer/sdk"
)

// Check implements [sdk.Checker]. It asks Slurm's own commands on the login node, and looks at a
// node by a short job only where the query allows it.
func (p *Provider) Check(ctx context.Context, q sdk.CheckQuery) ([]sdk.Finding, error) {
	o, err := p.options(q.Options)
	if err != nil {
		return nil, err
	}
	c := &checking{o: o, q: q}
	lines, err := p.run(ctx, o.Host, checkScript, nil)
	if err != nil {
		c.failed("login to "+o.Host, err.Error(), "make `ssh "+o.Host+"` work, and name a login node of the cluster in provider_options.slurm.host")
		return c.found, nil
	}
	c.ok("login to "+o.Host, "works, and Slurm answers")
	c.read(lines)
	nodes, _, err := p.nodes(ctx, options{Host: o.Host}, false)
	if err != nil {
		c.unknown("nodes of "+o.Host, err.Error(), "try again later")
		return c.found, nil
	}
	where := c.partition(nodes)
	c.gres(nodes, where)
	c.account(where)
	c.walltime(where)
	var login, compute []sdk.Finding
	var both sync.WaitGroup
	both.Go(func() { login = p.loginNode(ctx, o, q.Image) })
	both.Go(func() { compute = p.computeNode(ctx, o, q, where) })
	both.Wait()
	return slices.Concat(c.found, login, compute), nil
}

// checking is one run of Check.
type checking struct {
	o     options
	q     sdk.CheckQuery
	found []sdk.Finding

	parts        map[string]part // by name
	associations []association
	noAccounting string                   // why associations are not known; empty = they are
	maxWall      map[string]time.Duration // by QOS
}

// part is a partition.
type part struct {
	available string // up, down, drain or inact
	limit     time.Duration
}

// association is what a user may submit as.
type association struct {
	account, partition string // an empty partition is any
	qos                []string
}

func (c *checking) add(name, state, detail, fix string) {
	c.found = append(c.found, sdk.Finding{Name: name, State: state, Detail: detail, Fix: fix})
}
func (c *checking) ok(name, detail string)           { c.add(name, sdk.FindingOK, detail, "") }
func (c *checking) failed(name, detail, fix string)  { c.add(name, sdk.FindingFailed, detail, fix) }
func (c *checking) unknown(name, detail, fix string) { c.add(name, sdk.FindingUnknown, detail, fix) }

// read takes the lines of check.sh.
func (c *checking) read(lines [][]string) {
	c.parts, c.maxWall = map[string]part{}, map[string]time.Duration{}
	for _, l := range lines {
		switch {
		case l[0] == "part" && len(l) == 4:
			c.parts[l[1]] = part{l[2], duration(l[3])}
		case l[0] == "noacct" && len(l) >= 2:
			c.noAccounting = said(strings.Join(l[1:], "|"))
		case l[0] == "assoc" && len(l) == 4:
			c.associations = append(c.associations, association{l[1], l[2], strings.Split(l[3], ",")})
		case l[0] == "qos" && len(l) == 3:
			c.maxWall[l[1]] = duration(l[2])
		}
	}
}

// partition is the one that jobs go to: that of the options, or else of the best choice.
func (c *checking) partition(nodes []node) string {
	name := c.o.Partition
	if name == "" {
		for _, n := range nodes {
			if n.Default {
				name = n.Partition
			}
		}
		if all := choices(nodes, c.wish(), ""); len(all) > 0 {
			name = all[0].partition
		}
	}
	var names []string
	for known := range c.parts {
		names = append(names, known)
	}
	slices.Sort(names)
	is, known := c.parts[name]
	title := fmt.Sprintf("partition %s on %s", name, c.o.Host)
	switch {
	case !known:
		c.failed(title, "there is none of this name"+nearest.Of(name, names), "set provider_options.slurm.partition to one of "+strings.Join(names, ", "))
	case is.available != "up":
		c.failed(title, "it is "+is.available+", and starts no jobs", "choose another partition, or ask the cluster's administrators")
	default:
		c.ok(title, "up")
	}
	return name
}

// wish is what a machine needs of a node; with gres, the user knows better.
func (c *checking) wish() wish {
	w := wishOf(c.q.GPU, c.q.GPUCount, 0, 0)
	if c.o.Gres != "" || c.q.GPU == "*" {
		w.gpu, w.count = "", 0
	}
	return w
}

// gres wants nodes with the GPUs that are asked for, by name or as provider_options say it.
func (c *checking) gres(nodes []node, partition string) {
	title := "GPUs in the partition " + partition
	w, wanted := c.wish(), map[string]int{}
	if c.o.Gres != "" {
		title, wanted = "GRES "+c.o.Gres, gres(c.o.Gres)
	}
	switch {
	case w.gpu == "" && len(wanted) == 0:
		return
	case w.gpu != "":
		all := choices(nodes, w, partition)
		if len(all) == 0 {
			c.failed(title, fmt.Sprintf("no node has %d × %s%s", w.count, w.gpu, kindsOf(nodes, partition)), "ask for GPUs that the nodes have, or choose another partition")
			return
		}
		have, free := 0, 0
		for _, one := range all {
			have, free = have+one.nodes, free+one.free
		}
		c.ok(title, fmt.Sprintf("%d nodes have %d × %s, %d of them free now", have, w.count, w.gpu, free))
	default:
		have := 0
		for _, n := range nodes {
			if n.Partition == partition && n.has(wanted) {
				have++
			}
		}
		if have == 0 {
			c.failed(title, fmt.Sprintf("no node of the partition %s has it%s", partition, kindsOf(nodes, partition)), "set provider_options.slurm.gres to what the nodes have")
			return
		}
		c.ok(title, fmt.Sprintf("%d nodes have it", have))
	}
}

// has reports whether a node has GPUs by type; those without a type may be of any.
func (n node) has(wanted map[string]int) bool {
	for kind, count := range wanted {
		have := n.GPUs[kind]
		if kind == "" {
			have = 0
			for _, one := range n.GPUs {
				have += one
			}
		}
		if have < count {
			return false
		}
	}
	return true
}

// account wants an association of the user for what the options say.
func (c *checking) account(partition string) {
	title := "account and QOS"
	if c.noAccounting != "" {
		if c.o.Account != "" || c.o.QOS != "" {
			c.unknown(title, "the cluster does not tell: "+c.noAccounting, "nothing, if Slurm takes your jobs; else ask the cluster's administrators")
		}
		return
	}
	var accounts, qos []string
	for _, a := range c.associations {
		if a.partition != "" && a.partition != partition {
			continue
		}
		if !slices.Contains(accounts, a.account) {
			accounts = append(accounts, a.account)
		}
		if c.o.Account == "" || a.account == c.o.Account {
			qos = append(qos, a.qos...)
		}
	}
	slices.Sort(qos)
	qos = slices.Compact(qos)
	switch {
	case len(accounts) == 0:
		c.failed(title, "you have no account for the partition "+partition, "ask the cluster's administrators for one")
	case c.o.Account != "" && !slices.Contains(accounts, c.o.Account):
		c.failed(title, fmt.Sprintf("you may not use the account %s in the partition %s", c.o.Account, partition), "set provider_options.slurm.account to one of "+strings.Join(accounts, ", "))
	case c.o.QOS != "" && !slices.Contains(qos, c.o.QOS):
		c.failed(title, fmt.Sprintf("you may not use the QOS %s", c.o.QOS), "set provider_options.slurm.qos to one of "+strings.Join(qos, ", "))
	default:
		c.ok(title, "accounts "+strings.Join(accounts, ", ")+"; QOS "+strings.Join(qos, ", "))
	}
}

// walltime wants the timeout within the limits of the partition and of the QOS.
func (c *checking) walltime(partition string) {
	limit, of := c.parts[partition].limit, "the partition "+partition
	if wall := c.maxWall[c.o.QOS]; c.o.QOS != "" && wall > 0 && (limit == 0 || wall < limit) {
		limit, of = wall, "the QOS "+c.o.QOS
	}
	asked := time.Duration(c.q.TimeoutSeconds) * time.Second
	switch {
	case limit == 0:
		c.ok("time limit", "none in "+of)
	case asked > limit:
		c.failed("time limit", fmt.Sprintf("%s allows jobs of %s; sandbox.timeout is %s", of, limit, asked), fmt.Sprintf("lower sandbox.timeout to %s, or choose another partition or QOS", limit))
	default:
		c.ok("time limit", fmt.Sprintf("%s in %s", limit, of))
	}
}

// ofLogin are the findings of a host that matter on a login node.
// Its administrator's policy is about sandboxes there, and jobs run elsewhere.
var ofLogin = []string{"home folder", "state folder", "cache folder"}

// loginNode is what Seer's program sees on the login node: folders that the cluster shares.
func (p *Provider) loginNode(ctx context.Context, o options, image string) []sdk.Finding {
	found, err := askProgram[[]sdk.Finding](ctx, p, o.Host, []string{sdk.SSHProgram, "provider", "check"}, sdk.CheckQuery{Network: "none", Isolation: "none", Image: image})
	if err != nil {
		return []sdk.Finding{{Name: "Seer's program on " + o.Host, State: sdk.FindingFailed, Detail: err.Error(),
			Fix: "give it a folder there that can hold programs: space, quota and owner of ~/.cache/seer, and no noexec"}}
	}
	ofImage := "image " + image
	found = slices.DeleteFunc(found, func(f sdk.Finding) bool { return f.Name != ofImage && !slices.Contains(ofLogin, f.Name) })
	for i, f := range found {
		if f.Name == ofImage && f.State == sdk.FindingFailed { // the nodes may have it on disks of their own
			found[i].State = sdk.FindingWarning
		}
		found[i].Name += " on " + o.Host
	}
	return append([]sdk.Finding{{Name: "Seer's program on " + o.Host, State: sdk.FindingOK, Detail: "is there and runs"}}, found...)
}

// nodeWait is how long a node may be waited for, in seconds: with login and job it is less than a
// call of the contract.
const nodeWait = 12

// computeNode looks at a node, by a job of some seconds.
func (p *Provider) computeNode(ctx context.Context, o options, q sdk.CheckQuery, partition string) []sdk.Finding {
	if !q.OnNode {
		return []sdk.Finding{{Name: "compute node", State: sdk.FindingUnknown, Detail: "user namespaces, driver and CUDA, Python, scratch and connections are seen only from there",
			Fix: "let the check queue a short job (--on-node)"}}
	}
	ask := q
	ask.Options, ask.TimeoutSeconds, ask.OnNode = nil, 0, false
	if ask.Isolation == "auto" {
		ask.Isolation = ""
	}
	shell, lines := "/bin/sh -c", o.Setup
	if len(o.Modules) > 0 {
		shell, lines = "/bin/bash -l -c", append([]string{"module load " + quoted(o.Modules)}, o.Setup...)
	}
	script := strings.Join(append(slices.Clone(lines), `exec "$1" provider check-node`), "\n")
	args := append([]string{strconv.Itoa(nodeWait), sdk.SSHProgram, shell, script}, o.sbatchPlace(q, partition)...)
	found, err := askProgram[[]sdk.Finding](ctx, p, o.Host, argv(nodeScript, args...), ask)
	if err != nil {
		return []sdk.Finding{{Name: "compute node", State: sdk.FindingUnknown, Detail: err.Error(),
			Fix: fmt.Sprintf("try again when a node of the partition %s is free", partition)}}
	}
	for i := range found {
		found[i].Name += " on a node"
	}
	return found
}

// sbatchPlace are the options that say where a job runs.
func (o options) sbatchPlace(q sdk.CheckQuery, partition string) []string {
	spec := sdk.MachineSpec{GPU: q.GPU, GPUCount: q.GPUCount}
	if q.GPU == "*" {
		spec.GPU = ""
	}
	return slices.DeleteFunc(o.sbatch(spec, choice{partition: partition}, time.Minute), func(word string) bool {
		for _, given := range []string{"--nodes=", "--ntasks=", "--time=", "--no-requeue", "--signal="} {
			if strings.HasPrefix(word, given) {
				return true
			}
		}
		return false
	})
}

// askProgram runs a command in which Seer's program answers as a method of the contract.
func askProgram[Out any](ctx context.Context, p *Provider, host string, command []string, in any) (Out, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return bare.Ask[Out](ctx, p.Runner, host, command, in)
}
