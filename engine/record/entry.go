// Package record keeps what the calls of a run were: each with its arguments and its
// answer, linked to the code and the models behind it. The record is made from the
// journals of the services while they grow, so that it outlives the machine;
// docs/protocol.md, section 7, says what the folder holds.
package record

import (
	"encoding/json"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/protocol/journal"
)

// Entry is a call: one line of calls.jsonl. Times are unix seconds. Values are told
// by their hashes; see [Folder.Body].
type Entry struct {
	ID         string              `json:"id"`
	Service    string              `json:"service"`
	Function   string              `json:"function"`
	Token      string              `json:"token,omitempty"`
	Client     string              `json:"client,omitempty"`
	Queued     float64             `json:"queued,omitempty"`
	Started    float64             `json:"started,omitempty"`
	Ended      float64             `json:"ended,omitempty"`
	Seconds    float64             `json:"seconds,omitempty"`   // that it ran
	GPUBytes   int64               `json:"gpu_bytes,omitempty"` // see [protocol.Call]
	GPUSeconds float64             `json:"gpu_seconds,omitempty"`
	State      protocol.CallState  `json:"state"`
	Arguments  string              `json:"arguments,omitempty"` // of {"args":[…],"kwargs":{…}}
	Result     string              `json:"result,omitempty"`
	Items      []string            `json:"items,omitempty"`  // of a stream
	Output     string              `json:"output,omitempty"` // of [[1 or 2, text], …]: stdout and stderr
	Error      *protocol.CallError `json:"error,omitempty"`
	CodeHash   string              `json:"code_hash,omitempty"`
	Models     []journal.Model     `json:"models,omitempty"`
	Datasets   []journal.Model     `json:"datasets,omitempty"`
	Seed       json.RawMessage     `json:"seed,omitempty"` // the argument of that name
}

// Refused is the state of a call that the limits of its token did not admit.
const Refused protocol.CallState = "refused"
