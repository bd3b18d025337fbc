package host

import (
	"context"
	"encoding/json"
	"time"

	extism "github.com/extism/go-sdk"

	"github.com/seer-engine/seer/engine/plugin/host/egress"
	"github.com/seer-engine/seer/sdk"
)

// streamFunctions are the host functions for settings and for what leaves.
func streamFunctions() []extism.HostFunction {
	i64, i32 := extism.ValueTypeI64, extism.ValueTypeI32
	types := func(t ...extism.ValueType) []extism.ValueType { return t }
	return []extism.HostFunction{
		jsonFunction(sdk.HostSettings, func(s *egress.Session, _ struct{}) (map[string]string, error) { return s.Settings() }),
		jsonFunction(sdk.HostHTTPOpen, (*egress.Session).OpenHTTP),
		jsonFunction(sdk.HostGRPCOpen, (*egress.Session).OpenGRPC),
		jsonFunction(sdk.HostSSHOpen, (*egress.Session).OpenSSH),
		jsonFunction(sdk.HostSSHHosts, func(s *egress.Session, _ struct{}) ([]string, error) { return s.SSHHosts() }),
		jsonFunction(sdk.HostKubeOpen, (*egress.Session).OpenKube),
		jsonFunction(sdk.HostKubeContexts, (*egress.Session).KubeContexts),
		extism.NewHostFunctionWithStack(sdk.HostStreamSend, streamSend, types(i64, i64, i32), types(i32)),
		extism.NewHostFunctionWithStack(sdk.HostStreamCredit, func(ctx context.Context, _ *extism.CurrentPlugin, stack []uint64) {
			grantsOf(ctx).session.Credit(int64(stack[0]), int64(stack[1]))
		}, types(i64, i64), nil),
		extism.NewHostFunctionWithStack(sdk.HostStreamWait, streamWait, types(i64), types(i64)),
	}
}

func grantsOf(ctx context.Context) *grants { return ctx.Value(grantsKey{}).(*grants) }

// jsonFunction makes a host function of one that takes JSON and answers an envelope.
func jsonFunction[In, Out any](name string, f func(*egress.Session, In) (Out, error)) extism.HostFunction {
	offset := []extism.ValueType{extism.ValueTypePTR}
	return extism.NewHostFunctionWithStack(name, func(ctx context.Context, p *extism.CurrentPlugin, stack []uint64) {
		raw, err := p.ReadBytes(stack[0])
		if err != nil {
			panic(err)
		}
		stack[0] = writeEnvelope(p, func() (any, error) {
			var in In
			if len(raw) > 0 {
				if err := json.Unmarshal(raw, &in); err != nil {
					return nil, sdk.Errorf(sdk.Invalid, "the input of %s is not what the contract says: %v", name, err)
				}
			}
			return f(grantsOf(ctx).session, in)
		})
	}, offset, offset)
}

func streamSend(ctx context.Context, p *extism.CurrentPlugin, stack []uint64) {
	flags := extism.DecodeU32(stack[2])
	var data []byte
	if flags&sdk.SendData != 0 && stack[1] != 0 {
		var err error
		if data, err = p.ReadBytes(stack[1]); err != nil {
			panic(err)
		}
	}
	stack[0] = extism.EncodeI32(grantsOf(ctx).session.Send(int64(stack[0]), data, flags))
}

// streamWait is the one place where a guest waits. Its memory may be looked at
// meanwhile.
func streamWait(ctx context.Context, p *extism.CurrentPlugin, stack []uint64) {
	limit := time.Duration(min(max(int64(stack[0]), 0), time.Hour.Milliseconds())) * time.Millisecond
	g := grantsOf(ctx)
	g.instance.memory.release()
	events := g.session.Wait(limit)
	g.instance.memory.hold()
	stack[0] = 0
	if len(events) == 0 {
		return
	}
	at, err := p.WriteBytes(events)
	if err != nil {
		panic(err)
	}
	stack[0] = at
}
