// Package sshhost is the part of Seer that runs on a host which its user reaches by SSH: the
// provider of the host's own machines, one call at a time, and the way to their ports. It is
// part of `seer-runtime`.
package sshhost

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/pipe"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// maxInput is more than any input of the contract has.
const maxInput = 8 << 20

// ProviderMain is `seer-runtime provider METHOD`: it calls a method of the provider, with the
// JSON input of the plugin contract on in, and writes an [sdk.Envelope] to out. METHOD is
// describe, offers, create, observe, list, terminate, check, clean, check-node, which is check
// on a computer where a job runs, facts, which gives [Facts], or image, which create starts. It
// returns the exit status: 0, also where the method has failed.
func ProviderMain(method string, in io.Reader, out, log io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if method == createMethod {
		if err := leaveSession(ownSession().atLogout(ctx), os.Getenv, os.Args[1:]); err != nil {
			_, _ = fmt.Fprintln(log, "provider: the machine ends with the session:", err)
		}
	}
	envelope := answer(ctx, method, in, log)
	if err := json.NewEncoder(out).Encode(envelope); err != nil {
		_, _ = fmt.Fprintln(log, "provider:", err)
		return 1
	}
	return 0
}

func answer(ctx context.Context, method string, in io.Reader, log io.Writer) sdk.Envelope {
	call, known := methods[method]
	if !known {
		return failure(sdk.Errorf(sdk.Unsupported, "Seer's program on this host has no method %q; it may be older than what asks", method))
	}
	input, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if err == nil && len(input) > maxInput {
		err = sdk.Errorf(sdk.Invalid, "the input has more than %d bytes", maxInput)
	}
	if err != nil {
		return failure(err)
	}
	var h *host
	if method != nodeMethod {
		if h, err = open(os.Getenv, networkDisk, log); err != nil {
			return failure(sdk.Errorf(sdk.Unsupported, "%v", err))
		}
	}
	result, err := call(ctx, h, input)
	if err != nil {
		return failure(err)
	}
	data, err := json.Marshal(result)
	if err != nil {
		return failure(err)
	}
	return sdk.Envelope{OK: data}
}

func failure(err error) sdk.Envelope {
	e := &sdk.Error{Code: sdk.CodeOf(err), Message: err.Error()}
	if code := sdkError(err); code != nil {
		e.Seconds = code.Seconds
	}
	return sdk.Envelope{Error: e}
}

// createMethod makes machines.
const createMethod = "create"

// methods are those of the contract, over their JSON.
var methods = map[string]func(ctx context.Context, h *host, input []byte) (any, error){
	"describe": method(func(ctx context.Context, h *host, _ struct{}) (any, error) { return h.Describe(ctx) }),
	"offers":   method(func(ctx context.Context, h *host, in sdk.OfferQuery) (any, error) { return h.Offers(ctx, in) }),
	createMethod: method(func(ctx context.Context, h *host, in createInput) (any, error) {
		h.ahead = aheadOf(in.NowUnix, time.Now())
		if err := MountVolumes(&in.Spec, os.Getenv); err != nil {
			return nil, err
		}
		step, err := h.create(ctx, in.Spec, in.Cursor)
		if warning := ownSession().atLogout(ctx).warning(); err == nil && step.Handle != "" && warning != "" {
			step.Log = append(step.Log, warning)
		}
		return step, err
	}),
	"observe": method(func(ctx context.Context, h *host, in sdk.ObserveInput) (any, error) {
		return h.Observe(ctx, in.Handles)
	}),
	"list": method(func(ctx context.Context, h *host, in listInput) (any, error) {
		h.ahead = aheadOf(in.NowUnix, time.Now())
		_ = h.sweep() // what was killed has left; nobody else does on this host
		list, err := h.List(ctx, in.Owner)
		return append([]sdk.Listed{}, list...), err
	}),
	"terminate": method(func(ctx context.Context, h *host, in sdk.TerminateInput) (any, error) {
		return struct{}{}, h.Terminate(ctx, in.Handle)
	}),
	"facts": method(func(ctx context.Context, h *host, _ struct{}) (any, error) { return h.facts(ctx), nil }),
	"check": method(func(ctx context.Context, h *host, in sdk.CheckQuery) (any, error) {
		return newChecker().check(ctx, h.where, h.where.cacheOf(os.Getenv), in), nil
	}),
	nodeMethod: method(func(ctx context.Context, _ *host, in sdk.CheckQuery) (any, error) {
		return newChecker().checkNode(ctx, in), nil
	}),
	imageMethod: method(func(ctx context.Context, h *host, in imageInput) (any, error) {
		return struct{}{}, h.fetch(ctx, in.Base)
	}),
	"clean": method(func(ctx context.Context, h *host, in sdk.CleanInput) (any, error) { return h.clean(ctx, in) }),
}

// nodeMethod is "check" on a computer where a job runs. Nothing is kept below the user's folders
// there, so that it opens none.
const nodeMethod = "check-node"

func method[In any](call func(context.Context, *host, In) (any, error)) func(context.Context, *host, []byte) (any, error) {
	return func(ctx context.Context, h *host, input []byte) (any, error) {
		var in In
		if len(input) > 0 {
			if err := json.Unmarshal(input, &in); err != nil {
				return nil, sdk.Errorf(sdk.Invalid, "the input is not what the contract says: %v", err)
			}
		}
		return call(ctx, h, in)
	}
}

// createInput is that of the contract, with the time on the computer of the user: ends of machines
// are set by its clock.
type createInput struct {
	sdk.CreateInput
	NowUnix int64 `json:"now_unix,omitempty"` // 0 = not known
}

// listInput is that of the contract, with the time on the computer of the user.
type listInput struct {
	sdk.ListInput
	NowUnix int64 `json:"now_unix,omitempty"` // 0 = not known
}

// sameClock is the difference up to which clocks are taken to be the same: what was sent may have
// waited for a login.
const sameClock = time.Minute

// aheadOf is how far the clock of this host is ahead of the user's.
func aheadOf(theirs int64, now time.Time) time.Duration {
	ahead := now.Sub(time.Unix(theirs, 0)).Truncate(time.Second)
	if theirs == 0 || ahead.Abs() <= sameClock {
		return 0
	}
	return ahead
}

// host is the provider of this host, and where it keeps its machines.
type host struct {
	sdk.Provider
	where place
	store *state.Store
	sweep func() error
	ahead time.Duration // of the clock by which ends of machines are set

	options local.Options // of the provider
}

// open makes the provider in the user's folders. The running program is also the network proxy and the
// watchdog of its machines, and what their loader starts.
func open(getenv func(string) string, networked func(string) (bool, error), log io.Writer) (*host, error) {
	where, err := choose(getenv, networked, usualDisk)
	if err != nil {
		return nil, err
	}
	store, err := where.store(getenv)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	h := &host{where: where, store: store}
	h.options = local.Options{
		ArtifactsDir: filepath.Dir(self), NetProxy: []string{self, "netproxy"}, Watchdog: []string{self, "watchdog"},
		Python: func(ctx context.Context) (isolation.Interpreter, error) { return anyPython(ctx, getenv) },
		PythonVersion: func(ctx context.Context, version string) (isolation.Interpreter, error) {
			return python(ctx, getenv, version)
		},
		Places: toolPlaces(getenv),
		Ahead:  func() time.Duration { return h.ahead },
		Logger: hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Warn, DisableTime: true}),
	}
	if h.options.ImagesDir, err = store.Cache(imagesName); err != nil {
		return nil, err
	}
	Images(&h.options)
	h.Provider, err = local.Open(store, h.options)
	h.sweep = func() error { return local.Sweep(filepath.Join(store.StateDir(), local.Name), store.RuntimeDir()) }
	return h, err
}

// toolPlaces is where `seer doctor` puts programs for its user.
func toolPlaces(getenv func(string) string) []string {
	data := getenv("XDG_DATA_HOME")
	if data == "" {
		data = filepath.Join(getenv("HOME"), ".local", "share")
	}
	return []string{filepath.Join(data, "seer", "tools")}
}

// Facts are what a host is, for people who ask why something does not work there.
type Facts struct {
	System      string `json:"system"` // linux/amd64
	Cores       int    `json:"cores"`
	StateDir    string `json:"state_dir"`
	Moved       string `json:"moved,omitempty"` // why StateDir is not below the home folder
	Python      string `json:"python,omitempty"`
	PythonError string `json:"python_error,omitempty"`
	Logout      string `json:"logout,omitempty"` // why machines end with the session; empty = they do not
}

func (h *host) facts(ctx context.Context) Facts {
	f := Facts{System: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(), StateDir: h.where.state, Moved: h.where.moved,
		Logout: ownSession().atLogout(ctx).warning()}
	found, err := anyPython(ctx, os.Getenv)
	if err != nil {
		f.PythonError = err.Error()
	} else {
		f.Python = found.Executable + " " + found.Version
	}
	return f
}

// PipeMain is `seer-runtime pipe`: it serves connections to machines of the user over in and
// out until these end, and connects to nothing else. It returns the exit status.
func PipeMain(in io.ReadCloser, out io.WriteCloser, log io.Writer) int {
	h, err := open(os.Getenv, networkDisk, log)
	if err == nil {
		err = pipe.Serve(context.Background(), pipe.Stdio(in, out), func(ctx context.Context, target string) (net.Conn, error) {
			return local.Dial(ctx, h.Provider, target)
		})
	}
	if err != nil {
		_, _ = fmt.Fprintln(log, "pipe:", err)
		return 1
	}
	return 0
}
