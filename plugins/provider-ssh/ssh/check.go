package ssh

import (
	"context"
	"slices"

	"github.com/seer-engine/seer/sdk"
)

// Check implements [sdk.Checker]: each host looks at itself, all at the same time. While another
// host has all that is asked for, what a host lacks is a warning.
func (p *Provider) Check(ctx context.Context, q sdk.CheckQuery) ([]sdk.Finding, error) {
	hosts, err := p.hosts(q.Options)
	if err != nil {
		return nil, err
	}
	q.Options = nil
	if q.Isolation == auto {
		q.Isolation = ""
	}
	answers := askAll[[]sdk.Finding](ctx, p, hosts, "check", func(string) any { return q })
	var all []sdk.Finding
	fit := false
	for _, a := range answers {
		found := checked(a)
		fit = fit || !slices.ContainsFunc(found, func(f sdk.Finding) bool { return f.State == sdk.FindingFailed })
		all = append(all, found...)
	}
	for i := range all {
		if fit && all[i].State == sdk.FindingFailed {
			all[i].State = sdk.FindingWarning
		}
	}
	return all, nil
}

// checked is what a host has found, or why it could not look. The engine brings Seer's program
// before it asks, so that a host that answers can hold it.
func checked(a answer[[]sdk.Finding]) []sdk.Finding {
	on := " on " + a.host
	login := sdk.Finding{Name: "login to " + a.host, State: sdk.FindingOK, Detail: "works"}
	if a.err != nil {
		login.State, login.Detail = sdk.FindingFailed, a.err.Error()
		login.Fix = "make `ssh " + a.host + "` work, or name another host in provider_options.ssh"
		if sdk.CodeOf(a.err) == sdk.Unsupported { // the login works, and the host lacks something
			login.Name = "Seer's program" + on
			login.Fix = "give it a folder there that can hold programs: space, quota and owner of ~/.cache/seer, and no noexec"
		}
		return []sdk.Finding{login}
	}
	found := []sdk.Finding{login, {Name: "Seer's program" + on, State: sdk.FindingOK, Detail: "is there and runs"}}
	for _, f := range a.out {
		f.Name += on
		found = append(found, f)
	}
	return found
}

// Clean implements [sdk.Cleaner], on the hosts of the options or the setting, and those that the
// plugin has used where there are no options.
func (p *Provider) Clean(ctx context.Context, in sdk.CleanInput) ([]sdk.Cleaned, error) {
	hosts, err := p.cleanHosts(in)
	if err != nil {
		return nil, err
	}
	answers := askAll[[]sdk.Cleaned](ctx, p, hosts, "clean", func(string) any { return sdk.CleanInput{DryRun: in.DryRun} })
	all := []sdk.Cleaned{}
	for _, a := range answers {
		for _, c := range a.out {
			c.Name = a.host + ":" + c.Name
			all = append(all, c)
		}
	}
	if err := failed(answers); err != nil && len(all) == 0 {
		return nil, err
	}
	return all, nil
}

func (p *Provider) cleanHosts(in sdk.CleanInput) ([]string, error) {
	o, err := parseOptions(in.Options)
	if err != nil {
		return nil, err
	}
	if o.Host != "" || len(o.Hosts) > 0 {
		return p.hosts(in.Options)
	}
	hosts, err := p.usual()
	if err != nil {
		return nil, err
	}
	used, err := p.Runner.Hosts()
	return unique(append(hosts, used...)), err
}
