package slurm

import (
	"context"
	_ "embed"
	"regexp"
	"strings"
	"time"

	"github.com/seer-engine/seer/plugins/internal/bare"
	"github.com/seer-engine/seer/sdk"
)

// callTime is for one call of the contract; the limit of Seer is 30 seconds.
const callTime = 27 * time.Second

// The scripts, for any POSIX shell. prelude comes before each of the others.
var (
	//go:embed scripts/prelude.sh
	prelude string
	//go:embed scripts/submit.sh
	submitScript string
	//go:embed scripts/observe.sh
	observeScript string
	//go:embed scripts/list.sh
	listScript string
	//go:embed scripts/end.sh
	endScript string
	//go:embed scripts/offers.sh
	offersScript string
	//go:embed scripts/queue.sh
	queueScript string
	//go:embed scripts/connect.sh
	connectScript string
	//go:embed scripts/check.sh
	checkScript string
	//go:embed scripts/node.sh
	nodeScript string
	//go:embed scripts/clean.sh
	cleanScript string
)

// argv is a command that runs a script with arguments.
func argv(script string, args ...string) []string {
	return append([]string{"/bin/sh", "-c", prelude + script, "seer"}, args...)
}

// The exit codes of the scripts.
const (
	codeNoSlurm = 90 // the host has no Slurm
	codeRefused = 91 // sbatch has refused the job
	codeEnding  = 92 // a job does not end
)

// run runs a script on a host and returns its lines, each in parts.
func (p *Provider) run(ctx context.Context, host, script string, stdin []byte, args ...string) ([][]string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	result, err := p.Runner.Run(ctx, host, argv(script, args...), stdin)
	if err != nil {
		return nil, err // it names the host
	}
	switch result.Code {
	case 0:
	case codeNoSlurm:
		return nil, sdk.Errorf(sdk.Unsupported, "on %s: there is no squeue in the PATH of ssh or of /etc/profile; name a login node of the cluster", host)
	case codeRefused:
		return nil, refusal(host, result.Stderr)
	case codeEnding:
		return nil, sdk.Errorf(sdk.Unavailable, "on %s: %s", host, said(result.Stderr))
	default:
		return nil, sdk.Errorf(sdk.Unavailable, "on %s: Slurm does not answer: %s", host, said(result.Stderr))
	}
	var lines [][]string
	for line := range strings.Lines(string(result.Stdout)) {
		lines = append(lines, strings.Split(strings.TrimRight(line, "\r\n"), "|"))
	}
	return lines, nil
}

// said is the last thing that a command of Slurm has said, without the name of the command.
func said(text string) string {
	return commandName.ReplaceAllString(bare.LastLine(text), "")
}

var commandName = regexp.MustCompile(`^[a-z]+: (error: |fatal: )?`)

// refusal is the error of a job that Slurm does not take.
func refusal(host, text string) error {
	why := strings.TrimPrefix(said(text), "Batch job submission failed: ")
	lower, code, advice := strings.ToLower(text), sdk.Invalid, ""
	switch {
	case strings.Contains(lower, "invalid account"):
		advice = "; set provider_options.slurm.account and partition to a pair that you may use"
	case strings.Contains(lower, "accounting/qos policy"):
		code, advice = sdk.NoCapacity, "; end other jobs of yours, ask for less, or see provider_options.slurm.account and qos"
	case strings.Contains(lower, "qos"):
		advice = "; see provider_options.slurm.qos"
	case strings.Contains(lower, "invalid feature"):
		advice = "; see provider_options.slurm.constraint"
	case strings.Contains(lower, "not available"), strings.Contains(lower, "generic resource"):
		code, advice = sdk.Unsupported, "; no node of the partition has all that is asked for: lower gpu_count, cpu or memory, or see gres, constraint and nodelist"
	}
	return sdk.Errorf(code, "on %s: Slurm refuses the job: %s%s", host, why, advice)
}

// short are keys and owners as they may be parts of paths and names.
var short = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
var number = regexp.MustCompile(`^[0-9]{1,12}$`)

// split takes a handle apart; ok is false for one that is not of this provider.
func split(handle string) (host, job, key string, ok bool) {
	parts := strings.Split(handle, "/")
	if len(parts) != 3 || parts[0] == "" || !number.MatchString(parts[1]) || !short.MatchString(parts[2]) {
		return "", "", "", false
	}
	return parts[0], parts[1], parts[2], true
}

func join(host, job, key string) string { return host + "/" + job + "/" + key }
