package guestssh

import "github.com/seer-engine/seer/sdk/guest/internal/stream"

// Hosts are the hosts on which this plugin has run something in the last 30 days, on behalf of
// the same user, sorted. Machines that an experiment no longer names are found there.
func (Client) Hosts() ([]string, error) { return stream.Ask[[]string](askHosts) }
