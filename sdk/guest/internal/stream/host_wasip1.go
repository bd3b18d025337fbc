package stream

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/internal/abi"
)

//go:wasmimport extism:host/user http_open
func httpOpen(offset uint64) uint64

//go:wasmimport extism:host/user grpc_open
func grpcOpen(offset uint64) uint64

//go:wasmimport extism:host/user ssh_open
func sshOpen(offset uint64) uint64

//go:wasmimport extism:host/user kube_open
func kubeOpen(offset uint64) uint64

//go:wasmimport extism:host/user stream_send
func streamSend(stream int64, offset uint64, flags int32) int32

//go:wasmimport extism:host/user stream_credit
func streamCredit(stream, bytes int64)

//go:wasmimport extism:host/user stream_wait
func streamWait(maxMS int64) uint64

// instance is the host of this instance.
type instance struct{}

func (instance) OpenHTTP(in sdk.HTTPOpen) (int64, error) { return open(httpOpen, in) }
func (instance) OpenGRPC(in sdk.GRPCOpen) (int64, error) { return open(grpcOpen, in) }
func (instance) OpenSSH(in sdk.SSHOpen) (int64, error)   { return open(sshOpen, in) }
func (instance) OpenKube(in sdk.KubeOpen) (int64, error) { return open(kubeOpen, in) }

func open(f func(uint64) uint64, in any) (int64, error) {
	raw, err := json.Marshal(in)
	if err != nil {
		return 0, sdk.Errorf(sdk.Invalid, "the request cannot be written as JSON: %v", err)
	}
	var e sdk.Envelope
	if err := json.Unmarshal(abi.Call(f, raw), &e); err != nil {
		return 0, fmt.Errorf("the host's answer: %w", err)
	}
	if e.Error != nil {
		return 0, e.Error
	}
	var out sdk.Opened
	return out.Stream, json.Unmarshal(e.OK, &out)
}

func (instance) Send(stream int64, data []byte, flags int32) (answer int32) {
	abi.Lend(data, func(offset uint64) { answer = streamSend(stream, offset, flags) })
	return answer
}

func (instance) Credit(stream, bytes int64) { streamCredit(stream, bytes) }

func (instance) Wait(limit time.Duration) []byte { return abi.Take(streamWait(limit.Milliseconds())) }
