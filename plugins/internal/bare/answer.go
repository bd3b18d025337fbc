package bare

import (
	"encoding/json"
	"strings"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/guestssh"
)

// Answer reads what Seer's program has said on a host, as a method of the plugin contract. Its
// errors name the host.
func Answer[Out any](host string, r guestssh.Result) (out Out, err error) {
	var e sdk.Envelope
	if json.Unmarshal(r.Stdout, &e) != nil || e.OK == nil && e.Error == nil {
		return out, sdk.Errorf(sdk.Unavailable, "on %s: Seer's program ended with exit code %d: %s", host, r.Code, lastLine(r.Stderr))
	}
	if e.Error != nil {
		return out, &sdk.Error{Code: e.Error.Code, Message: "on " + host + ": " + e.Error.Message, Seconds: e.Error.Seconds}
	}
	if err := json.Unmarshal(e.OK, &out); err != nil {
		return out, sdk.Errorf(sdk.Internal, "on %s: the answer is not what the contract says: %v", host, err)
	}
	return out, nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return "it said nothing"
	}
	return text[strings.LastIndexByte(text, '\n')+1:]
}
