package guestssh

import (
	"encoding/json"
	"fmt"

	"github.com/seer-engine/seer/sdk"
)

// Hosts are the hosts on which this plugin has run something in the last 30 days, on behalf of
// the same user, sorted. Machines that an experiment no longer names are found there.
func (Client) Hosts() ([]string, error) {
	var e sdk.Envelope
	if err := json.Unmarshal(askHosts([]byte("{}")), &e); err != nil {
		return nil, fmt.Errorf("the host's answer: %w", err)
	}
	if e.Error != nil {
		return nil, e.Error
	}
	var hosts []string
	return hosts, json.Unmarshal(e.OK, &hosts)
}
