package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/sys"

	"github.com/seer-engine/seer/sdk"
)

// caller calls one plugin with the rights of one caller.
type caller struct {
	host    *Host
	plugin  Plugin
	folders []string // that the plugin may read
	model   string   // that the call is about
}

// invoke calls an export: JSON in, envelope out. The error is the plugin's own
// *sdk.Error, the context's, or an *Error about the plugin.
func invoke[Out any](ctx context.Context, c caller, export string, in any) (Out, error) {
	var out Out
	input, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	granted, err := c.host.granted(ctx, c.plugin)
	if err != nil {
		return out, err
	}
	l, err := c.host.load(ctx, c.plugin, granted)
	if err != nil {
		return out, err
	}
	defer c.host.release(ctx, l)
	answer, err := l.module.call(ctx, export, input, &grants{plugin: c.plugin, folders: c.folders, model: c.model, mayFolders: l.module.manifest.Permissions.Folders})
	if err != nil {
		return out, err
	}
	if c.host.answer != nil {
		c.host.answer(c.plugin, export, answer)
	}
	if err := json.Unmarshal(answer, &out); err != nil {
		return out, fault(FaultOutput, c.plugin, "its answer to %s is not what the contract says: %w", export, err)
	}
	return out, nil
}

// call runs an export in an instance of its own and returns what is inside the
// envelope.
func (m *module) call(ctx context.Context, export string, input []byte, g *grants) (json.RawMessage, error) {
	// What does not fit well into the guest's memory would fail there, less clearly.
	if limit := min(m.limits.InputMB, m.limits.MemoryMB/4) << 20; len(input) > limit {
		return nil, sdk.Errorf(sdk.Invalid, "the input of %s for plugin %s has %d bytes; the limit is %d", export, m.plugin.Manifest.ID, len(input), limit)
	}
	inst, err := m.take(ctx, g.seen())
	if err != nil {
		return nil, err
	}
	inst.log.reset(m.limits.LogKB << 10)
	callCtx, watch := startWatch(ctx, m.limits.of(export), m.gateway)
	defer watch.stop()
	defer g.ahead.stop()
	watch.session.ForModel(g.model)
	g.watch, g.session, g.instance, inst.ctx = watch, watch.session, inst, callCtx
	inst.memory.hold()
	_, output, err := inst.plugin.CallWithContext(withGrants(callCtx, g), export, input)
	inst.memory.release()
	if err != nil {
		err = m.explain(callCtx, ctx, inst, export, err)
		m.give(ctx, inst, false)
		return nil, err
	}
	answer, remote, err := m.open(export, output)
	if err != nil && m.isClosed() { // which may look like a quiet exit
		err = fault(FaultClosed, m.plugin, "the plugin host was closed during %s", export)
	}
	m.give(ctx, inst, err == nil)
	if err != nil {
		return nil, err
	}
	switch {
	case remote == nil:
		return answer, nil
	case ctx.Err() != nil: // what it says is only that it was asked to end
		return nil, ctx.Err()
	case watch.timedOut():
		return nil, m.tooLong(export)
	default:
		return nil, remote
	}
}

// explain gives a failed call its one clear error.
func (m *module) explain(callCtx, ctx context.Context, inst *instance, export string, err error) error {
	reason := inst.log.reason()
	var exit *sys.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(context.Cause(callCtx), errTimeLimit):
		return m.tooLong(export)
	case m.isClosed():
		return fault(FaultClosed, m.plugin, "the plugin host was closed during %s", export)
	case outOfMemory(reason), outOfMemory(err.Error()), reason == "" && strings.Contains(err.Error(), "unreachable") && inst.memory.full():
		return fault(FaultMemory, m.plugin, "%s needed more than %d MiB of memory and was stopped", export, m.limits.MemoryMB)
	case reason != "":
		return fault(FaultCrash, m.plugin, "%s panicked: %s", export, reason)
	case errors.As(err, &exit):
		return fault(FaultCrash, m.plugin, "%s ended the plugin with exit code %d", export, exit.ExitCode())
	default:
		return fault(FaultCrash, m.plugin, "%s failed: %s", export, oneLine(m.log.scrub(firstLine(err))))
	}
}

func (m *module) tooLong(export string) error {
	return fault(FaultTime, m.plugin, "%s took longer than %v and was stopped", export, m.limits.of(export))
}

func (m *module) isClosed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}

func outOfMemory(text string) bool {
	for _, sign := range []string{"out of memory", "cannot allocate memory", "memory allocation of"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}

// nodes counts the objects and lists of a JSON text.
func nodes(text []byte) int {
	n, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case !inString && (c == '{' || c == '['):
			n++
		}
	}
	return n
}

// open takes the envelope off. The second result is the plugin's own error.
func (m *module) open(export string, output []byte) (json.RawMessage, *sdk.Error, error) {
	if limit := m.limits.OutputMB << 20; len(output) > limit {
		return nil, nil, fault(FaultOutput, m.plugin, "%s answered %d bytes; the limit is %d MiB", export, len(output), m.limits.OutputMB)
	}
	if !m.anyAnswer && nodes(output) > maxNodes {
		return nil, nil, fault(FaultOutput, m.plugin, "%s answered more than %d objects and lists", export, maxNodes)
	}
	var e sdk.Envelope
	switch err := json.Unmarshal(output, &e); {
	case len(bytes.TrimSpace(output)) == 0:
		return nil, nil, fault(FaultOutput, m.plugin, "%s answered nothing", export)
	case err != nil:
		return nil, nil, fault(FaultOutput, m.plugin, "%s answered no JSON object: %w", export, err)
	case string(e.OK) == "null" && e.Error != nil: // how some languages write "absent"
		return nil, m.remote(export, e.Error), nil
	case (e.OK == nil) == (e.Error == nil):
		return nil, nil, fault(FaultOutput, m.plugin, `%s answered without exactly one of "ok" and "error"`, export)
	case e.Error != nil:
		return nil, m.remote(export, e.Error), nil
	}
	return e.OK, nil, nil
}

var codes = []sdk.Code{sdk.NotFound, sdk.Invalid, sdk.Unauthorized, sdk.NoCapacity,
	sdk.RateLimited, sdk.Unavailable, sdk.Unsupported, sdk.Internal}

const maxMessage = 4 << 10

// remote brings a plugin's error into the closed set.
func (m *module) remote(export string, e *sdk.Error) *sdk.Error {
	if !slices.Contains(codes, e.Code) {
		e.Code = sdk.Internal
	}
	if len(e.Message) > maxMessage {
		e.Message = strings.ToValidUTF8(e.Message[:maxMessage], "") + "…"
	}
	e.Message = oneLine(m.log.scrub(e.Message))
	if e.Message == "" {
		e.Message = "plugin " + m.plugin.Manifest.ID + " failed in " + export + " without saying why (" + string(e.Code) + ")"
	}
	return e
}
