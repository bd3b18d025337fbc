package bare

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/guestssh"
)

// Hosts are the computers that a provider reaches by SSH.
type Hosts struct {
	// Settings are the values of the manifest's settings.
	Settings func() (map[string]string, error)
	// Runner runs commands on hosts.
	Runner Runner
}

// Runner runs commands on hosts; see [guestssh.Client], which is one.
type Runner interface {
	Run(ctx context.Context, host string, argv []string, stdin []byte) (guestssh.Result, error)
	Hosts() ([]string, error) // that this plugin has used
}

var _ Runner = guestssh.Client{}

// Ask runs a command on a host in which Seer's program answers as a method of the plugin contract.
// Its errors name the host.
func Ask[Out any](ctx context.Context, r Runner, host string, command []string, in any) (out Out, err error) {
	stdin, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	result, err := r.Run(ctx, host, command, stdin)
	if err != nil {
		return out, err // it names the host
	}
	var e sdk.Envelope
	if json.Unmarshal(result.Stdout, &e) != nil || e.OK == nil && e.Error == nil {
		return out, sdk.Errorf(sdk.Unavailable, "on %s: Seer's program ended with exit code %d: %s", host, result.Code, LastLine(result.Stderr))
	}
	if e.Error != nil {
		return out, &sdk.Error{Code: e.Error.Code, Message: "on " + host + ": " + e.Error.Message, Seconds: e.Error.Seconds}
	}
	if err := json.Unmarshal(e.OK, &out); err != nil {
		return out, sdk.Errorf(sdk.Internal, "on %s: the answer is not what the contract says: %v", host, err)
	}
	return out, nil
}

// LastLine is the last thing that a command has said.
func LastLine(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return "it said nothing"
	}
	return text[strings.LastIndexByte(text, '\n')+1:]
}
