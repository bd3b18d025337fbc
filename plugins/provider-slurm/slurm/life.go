package slurm

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/plugins/internal/bare"
	"github.com/seer-engine/seer/sdk"
)

// Route implements [sdk.Router]: through the login node and a step of the job.
func (p *Provider) Route(ctx context.Context, handle string, port int) (sdk.Route, error) {
	host, id, key, ok := split(handle)
	if !ok {
		return sdk.Route{}, sdk.Errorf(sdk.NotFound, "%q is not a machine of the provider slurm", handle)
	}
	jobs, err := p.look(ctx, host, []string{id + ":" + key})
	if err != nil {
		return sdk.Route{}, err
	}
	if j := jobs[id]; j != nil && j.said != nil {
		for _, e := range j.said.Endpoints {
			if target, ok := bare.Target(e.URL); ok && e.Port == port {
				return sdk.Route{SSH: &sdk.SSHRoute{Host: host, Command: argv(connectScript, id, key, sdk.SSHProgram), Target: target}}, nil
			}
		}
	}
	return sdk.Route{}, sdk.Errorf(sdk.NotFound, "on %s: the machine of job %s has no port %d", host, id, port)
}

// List implements [sdk.Provider]. It asks the cluster of the setting and all that this plugin has
// used, for an experiment that named one may be gone. One that does not answer is named in the list.
func (p *Provider) List(ctx context.Context, owner string) ([]sdk.Listed, error) {
	hosts, err := p.known()
	if err != nil {
		return nil, err
	}
	var all []sdk.Listed
	var failed []error
	for _, host := range hosts {
		lines, err := p.run(ctx, host, listScript, nil)
		if err != nil {
			all, failed = append(all, bare.Away(host, owner, err)), append(failed, err)
			continue
		}
		all = append(all, listed(host, owner, lines)...)
	}
	if len(failed) > 0 && len(failed) == len(hosts) {
		return nil, failed[0]
	}
	return all, nil
}

// listed reads the lines of list.sh. Of a job that Slurm has forgotten only the folder is left.
func listed(host, owner string, lines [][]string) (all []sdk.Listed) {
	jobs := parseJobs(lines)
	for _, l := range lines {
		if l[0] != "dir" || len(l) != 5 || l[2] != owner {
			continue
		}
		end, _ := strconv.ParseInt(l[3], 10, 64) // 0 = unknown
		known := len(all)
		for _, j := range jobs {
			if j.name == l[1] {
				all = append(all, sdk.Listed{Handle: join(host, j.id, l[1]), Key: l[1], Owner: owner, State: j.observation().State, EndUnix: end})
			}
		}
		if len(all) == known && number.MatchString(l[4]) {
			all = append(all, sdk.Listed{Handle: join(host, l[4], l[1]), Key: l[1], Owner: owner, State: sdk.Stopped, EndUnix: end})
		}
	}
	slices.SortFunc(all, func(a, b sdk.Listed) int { return strings.Compare(a.Handle, b.Handle) })
	return all
}

// Terminate implements [sdk.Provider].
func (p *Provider) Terminate(ctx context.Context, handle string) error {
	host, _, key, ok := split(handle)
	if !ok {
		return nil // no such machine was ever made
	}
	_, err := p.run(ctx, host, endScript, nil, key)
	return err
}

// known are the clusters that this plugin has used, and that of the setting.
func (p *Provider) known() ([]string, error) {
	host, err := p.usual()
	if err != nil {
		return nil, err
	}
	hosts, err := p.Runner.Hosts()
	if err == nil && host != "" && !slices.Contains(hosts, host) {
		hosts = append(hosts, host)
	}
	return hosts, err
}
