package slurm

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/seer-engine/seer/plugins/internal/bare"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/guestssh"
)

// cluster answers each script with a text, as Slurm 22.05 has said it.
type cluster struct {
	usual   string // the setting
	used    []string
	answers map[string]string // by script
	stderr  string
	code    int

	mu      sync.Mutex
	asked   [][]string // what came after the script
	stdin   []byte
	scripts []string // that were run, but for that of offers
	inputs  [][]byte // of each
}

// programKey comes before the method of Seer's program on a host, among the answers.
const programKey = "provider "

func (c *cluster) provider() *Provider {
	return &Provider{bare.Hosts{Runner: c, Settings: func() (map[string]string, error) { return map[string]string{"host": c.usual}, nil }}}
}

func (c *cluster) Hosts() ([]string, error) { return c.used, nil }

func (c *cluster) Run(_ context.Context, host string, argv []string, stdin []byte) (guestssh.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if host == "gone" {
		return guestssh.Result{}, sdk.Errorf(sdk.Unavailable, "the host gone cannot be reached")
	}
	if argv[0] == sdk.SSHProgram {
		c.asked, c.scripts, c.inputs = append(c.asked, argv), append(c.scripts, argv[2]), append(c.inputs, stdin)
		return guestssh.Result{Stdout: []byte(c.answers[programKey+argv[2]])}, nil
	}
	script := strings.TrimPrefix(argv[2], prelude)
	if script != offersScript {
		c.asked, c.stdin = append(c.asked, argv[4:]), stdin
		c.scripts, c.inputs = append(c.scripts, script), append(c.inputs, stdin)
		if c.code != 0 {
			return guestssh.Result{Code: c.code, Stderr: c.stderr}, nil
		}
	}
	return guestssh.Result{Stdout: []byte(c.answers[script])}, nil
}

// offered are two nodes of four GPUs in two partitions; gpu2 is full.
var offered = sinfo("gpu*", "gpu1", "mix", "1/7/0/8", "16000", "100", "gpu:a100:4", "gpu:a100:1(IDX:0)", "up", "2-00:00:00") +
	sinfo("debug", "gpu1", "mix", "1/7/0/8", "16000", "100", "gpu:a100:4", "gpu:a100:1(IDX:0)", "up", "30:00") +
	sinfo("gpu*", "gpu2", "mix", "1/7/0/8", "16000", "100", "gpu:a100:4", "gpu:a100:4(IDX:0-3)", "up", "2-00:00:00") +
	sinfo("debug", "gpu2", "mix", "1/7/0/8", "16000", "100", "gpu:a100:4", "gpu:a100:4(IDX:0-3)", "up", "30:00") +
	sinfo("cpu", "big1", "drain*", "0/0/64/64", "512000", "0", "(null)", "gpu:0", "up", "infinite")

func sinfo(fields ...string) string {
	line := ""
	for i, f := range fields {
		line += f + strings.Repeat(" ", columns[i]-len(f))
	}
	return line + "\n"
}

func spec(change func(*sdk.MachineSpec)) sdk.MachineSpec {
	s := sdk.MachineSpec{Key: "seer-k1", Owner: "own-1", TimeoutSeconds: 1200}
	if change != nil {
		change(&s)
	}
	return s
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }
