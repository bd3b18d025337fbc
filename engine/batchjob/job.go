// Package batchjob runs one machine of a computer in the foreground, as a job of a batch system
// such as Slurm. It reads the specification of the machine from a folder that all computers of the
// cluster share, and writes the machine's state there. Everything else is on the computer's own
// disk, and is removed after the job. The package is a part of seer-runtime.
package batchjob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"strconv"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/runtime/loader"
	"github.com/seer-engine/seer/engine/sshhost"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// The files of a job's folder.
const (
	SpecName  = "spec.json"  // what to make: JSON of an [sdk.MachineSpec]
	EndName   = "end"        // when the machine ends by itself: unix seconds
	StateName = "state.json" // how it is: JSON of an [sdk.Observation] whose addresses are those of the job's computer
)

// The parts of the program that a job consists of; each is followed by its folders.
const (
	serveArg   = "serve"   // SHARED
	guardArg   = "guard"   // SHARED NODE
	connectArg = "connect" // SHARED
)

// Main is `seer-runtime job`: it runs a part of a job, serve DIR, guard DIR NODE or connect DIR,
// and returns the exit code.
func Main(args []string, stdin io.ReadCloser, stdout io.WriteCloser, stderr io.Writer) int {
	ctx, stop := untilAsked(os.Getenv(EndVariable))
	defer stop()
	var err error
	switch {
	case len(args) == 2 && args[0] == serveArg:
		err = serve(ctx, args[1], os.Getenv, stderr)
	case len(args) == 3 && args[0] == guardArg:
		err = guard(args[1], args[2], stdin)
	case len(args) == 2 && args[0] == connectArg:
		err = connect(ctx, args[1], stdin, stdout)
	default:
		err = errors.New("usage: seer-runtime job serve DIR | guard DIR NODE | connect DIR")
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// EndVariable says when the batch system will end the job, in unix seconds.
const EndVariable = "SEER_JOB_END"

const (
	goingOn = 45 * time.Second // how long a job goes on after the warning if it does not know its limit
	orderly = 15 * time.Second // before the limit, for an orderly end
)

// untilLimit is how long a job goes on after the warning that its limit is near. Slurm sends that 60
// to 120 seconds before the limit, as it is asked to. A limit that does not fit was changed since.
func untilLimit(end string, now time.Time) time.Duration {
	unix, err := strconv.ParseInt(end, 10, 64)
	left := time.Unix(unix, 0).Sub(now) - orderly
	if err != nil || left < 0 || left > 2*time.Minute {
		return goingOn
	}
	return left
}

// untilAsked is the time until the job has to end, and says why: by SIGUSR1 shortly before its time
// limit, which is end, by SIGTERM for all else.
func untilAsked(end string) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	asked := make(chan os.Signal, 4)
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGINT, syscall.SIGUSR1)
	go func() {
		for limit := (<-chan time.Time)(nil); ; {
			select {
			case sig := <-asked:
				if sig != syscall.SIGUSR1 {
					cancel(errors.New("the cluster has asked the job to end"))
					return
				}
				limit = time.After(untilLimit(end, time.Now()))
			case <-limit:
				cancel(errors.New("the job has reached its time limit"))
				return
			}
		}
	}()
	return ctx, func() { signal.Stop(asked) }
}

// look is the time between two looks at the machine.
const look = 2 * time.Second

// serve makes the machine, and returns when it has ended.
func serve(ctx context.Context, dir string, getenv func(string) string, log io.Writer) error {
	j := &job{dir: dir, log: log}
	err := j.tell(sdk.Observation{State: sdk.Starting, Message: "the job has begun"})
	if err == nil {
		err = j.run(ctx, getenv)
	}
	if err != nil && ctx.Err() != nil {
		return j.tell(sdk.Observation{State: sdk.Stopped, Message: context.Cause(ctx).Error()})
	}
	if err != nil {
		_ = j.tell(sdk.Observation{State: sdk.Failed, Message: err.Error(), Code: sdk.CodeOf(err)}) // the log has it, too
	}
	return err
}

type job struct {
	dir    string // shared
	log    io.Writer
	p      sdk.Provider
	handle string
	said   sdk.Observation // what is in the shared folder
}

func (j *job) run(ctx context.Context, getenv func(string) string) (err error) {
	spec, err := readSpec(filepath.Join(j.dir, SpecName))
	if err != nil {
		return err
	}
	n, err := openNode(ctx, getenv)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := n.clean(); err == nil {
			err = cerr
		}
	}()
	if err := n.keep(j.dir, spec); err != nil {
		return err
	}
	if err := begin(j.dir, spec, time.Now()); err != nil {
		return err
	}
	set := given(getenv)
	if err := ofJob(ctx, set, spec); err != nil {
		return err
	}
	j.p = n.provider(set, getenv)
	if err := sshhost.MountVolumes(spec, getenv); err != nil {
		return err
	}
	if err := j.isolate(ctx, spec); err != nil {
		return err
	}
	if err := j.create(ctx, spec); err != nil {
		return err
	}
	return j.watch(ctx)
}

func readSpec(path string) (*sdk.MachineSpec, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read what the job is to make: %w", err)
	}
	var spec sdk.MachineSpec
	if err := json.Unmarshal(data, &spec); err != nil {
		return nil, fmt.Errorf("read what the job is to make: %s: %w", path, err)
	}
	spec.Offer, spec.Regions = "", nil
	spec.AnyPort = spec.Ports // they are carried from wherever they are
	return &spec, nil
}

// begin counts the machine's time from the start of the job, where it has no end yet: the time in the
// queue is no part of it. It writes the end down for those who wait for it.
func begin(dir string, spec *sdk.MachineSpec, now time.Time) error {
	had := spec.EndUnix
	if err := beginTime(spec, now); err != nil || spec.EndUnix == had {
		return err
	}
	if err := state.WriteFile(filepath.Join(dir, EndName), fmt.Appendln(nil, spec.EndUnix), 0o600); err != nil {
		return fmt.Errorf("write down when the machine ends: %w", err)
	}
	return nil
}

func beginTime(spec *sdk.MachineSpec, now time.Time) error {
	if spec.EndUnix != 0 || spec.TimeoutSeconds <= 0 {
		return nil
	}
	spec.EndUnix = now.Unix() + spec.TimeoutSeconds
	return loader.SetEnd(spec.Env, spec.EndUnix)
}

// isolate chooses the best isolation that works here, and never none by itself.
func (j *job) isolate(ctx context.Context, spec *sdk.MachineSpec) error {
	if spec.Isolation != "" && spec.Isolation != "auto" {
		return nil
	}
	info, err := j.p.Describe(ctx)
	if err != nil {
		return err
	}
	why := ""
	for _, i := range info.Isolations {
		if i.Name == isolation.None {
			continue
		}
		if i.Usable {
			spec.Isolation = i.Name
			return nil
		}
		why += "; " + i.Name + ": " + i.Reason
	}
	return sdk.Errorf(sdk.Unsupported, "nothing keeps a sandbox apart from this computer%s; have bubblewrap installed there, or set sandbox.isolation to none to do without", why)
}

func (j *job) create(ctx context.Context, spec *sdk.MachineSpec) error {
	var cursor json.RawMessage
	for {
		step, err := j.p.Create(ctx, *spec, cursor)
		if err != nil {
			return err
		}
		for _, line := range step.Log {
			_, _ = fmt.Fprintln(j.log, line)
		}
		if j.handle = step.Handle; j.handle != "" {
			return nil
		}
		if n := len(step.Log); n > 0 { // of an image, which may take minutes
			_ = j.tell(sdk.Observation{State: sdk.Starting, Message: step.Log[n-1]}) // the log has it, too
		}
		cursor = step.Cursor
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Duration(step.AfterSeconds * float64(time.Second))):
		}
	}
}

// watch writes down how the machine is until it has ended, or has to.
func (j *job) watch(ctx context.Context) error {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, look) {
		seen, err := j.p.Observe(context.WithoutCancel(ctx), []string{j.handle})
		if err != nil {
			return err
		}
		if err := j.tell(seen[0]); err != nil {
			_, _ = fmt.Fprintln(j.log, err) // the shared folder may be away for a time
		}
		if !seen[0].State.Live() {
			return nil
		}
		if seen[0].State == sdk.Running {
			wait = look
		}
		select {
		case <-ctx.Done():
			return j.end(context.Cause(ctx))
		case <-time.After(wait):
		}
	}
}

// end ends the machine in an orderly way, as the job has to end.
func (j *job) end(why error) error {
	if err := j.p.Terminate(context.Background(), j.handle); err != nil {
		return err
	}
	return j.tell(sdk.Observation{State: sdk.Stopped, Message: why.Error()})
}

// tell writes down how the machine is, if that is new.
func (j *job) tell(o sdk.Observation) error {
	if reflect.DeepEqual(o, j.said) {
		return nil
	}
	if err := write(j.dir, o); err != nil {
		return err
	}
	j.said = o
	return nil
}

func write(dir string, o sdk.Observation) error {
	data, err := json.Marshal(o)
	if err == nil {
		err = state.WriteFile(filepath.Join(dir, StateName), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write down how the machine is: %w", err)
	}
	return nil
}

// provider is that of machines of this computer, with everything in the job's folder on it.
func (n *node) provider(gpus gpuFinder, getenv func(string) string) sdk.Provider {
	o := local.Options{
		Dir: filepath.Join(n.dir, "machines"), RuntimeDir: filepath.Join(n.dir, "r"), ArtifactsDir: filepath.Dir(n.program), GPUs: gpus,
		NetProxy: []string{n.program, "netproxy"}, Watchdog: []string{n.program, "watchdog"},
		Python: func(ctx context.Context) (isolation.Interpreter, error) { return sshhost.Python(ctx, getenv) },
		PythonVersion: func(ctx context.Context, version string) (isolation.Interpreter, error) {
			return sshhost.PythonVersion(ctx, getenv, version)
		},
	}
	sshhost.Images(&o)
	return local.New(o)
}
