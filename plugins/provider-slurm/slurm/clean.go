package slurm

import (
	"context"
	"encoding/json"

	"github.com/seer-engine/seer/sdk"
)

// Clean implements [sdk.Cleaner], on the cluster of the options, or else on those of the setting
// and all that the plugin has used. What machines have left whose jobs are gone is removed. While
// a job of Seer is there, programs and cache stay, which it may use on any node.
func (p *Provider) Clean(ctx context.Context, in sdk.CleanInput) ([]sdk.Cleaned, error) {
	hosts, err := p.clusters(in.Options)
	if err != nil {
		return nil, err
	}
	all := []sdk.Cleaned{}
	for _, host := range hosts {
		gone, err := p.cleanOn(ctx, host, in.DryRun)
		all = append(all, gone...)
		if err != nil {
			if len(all) > 0 {
				return all, nil // what was removed is told; the next call says what is wrong
			}
			return nil, err
		}
	}
	return all, nil
}

func (p *Provider) cleanOn(ctx context.Context, host string, dry bool) (all []sdk.Cleaned, err error) {
	flag := "0"
	if dry {
		flag = "1"
	}
	lines, err := p.run(ctx, host, cleanScript, nil, flag)
	if err != nil {
		return nil, err
	}
	busy := false
	for _, l := range lines {
		switch {
		case l[0] == "busy":
			busy = true
		case l[0] == "gone" && len(l) == 3:
			all = append(all, sdk.Cleaned{Name: host + ":" + l[1], Bytes: int64(atoi(l[2])) << 10})
		}
	}
	if busy {
		return all, nil
	}
	gone, err := askProgram[[]sdk.Cleaned](ctx, p, host, []string{sdk.SSHProgram, "provider", "clean"},
		sdk.CleanInput{DryRun: dry, Options: json.RawMessage(`{"alone":true}`)})
	for _, c := range gone {
		all = append(all, sdk.Cleaned{Name: host + ":" + c.Name, Bytes: c.Bytes})
	}
	return all, err
}

// clusters are the login nodes to clean.
func (p *Provider) clusters(raw json.RawMessage) ([]string, error) {
	if len(raw) > 0 && string(raw) != "null" {
		o, err := p.options(raw)
		return []string{o.Host}, err
	}
	return p.known()
}
