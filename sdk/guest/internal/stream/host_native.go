//go:build !wasip1

package stream

import (
	"encoding/json"
	"time"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/internal/abi"
)

// instance is the host of this instance. Outside Wasm there is none: every opening
// fails and says so.
type instance struct{}

func (instance) OpenHTTP(sdk.HTTPOpen) (int64, error) {
	return 0, sdk.Errorf(sdk.Unsupported, abi.Native)
}

func (instance) OpenGRPC(sdk.GRPCOpen) (int64, error) {
	return 0, sdk.Errorf(sdk.Unsupported, abi.Native)
}

func (instance) OpenSSH(sdk.SSHOpen) (int64, error) {
	return 0, sdk.Errorf(sdk.Unsupported, abi.Native)
}

func (instance) OpenKube(sdk.KubeOpen) (int64, error) {
	return 0, sdk.Errorf(sdk.Unsupported, abi.Native)
}

func (instance) Send(int64, []byte, int32) int32 { return sdk.SendOver }
func (instance) Credit(int64, int64)             {}
func (instance) Wait(time.Duration) []byte       { return nil }

// NoHost is what every host function answers outside Wasm.
func NoHost() []byte {
	answer, _ := json.Marshal(sdk.Envelope{Error: sdk.Errorf(sdk.Unsupported, abi.Native)}) // strings
	return answer
}
