package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/runtime/internal/httpx"
	"github.com/seer-engine/seer/engine/runtime/internal/portforward"
	"github.com/seer-engine/seer/engine/runtime/loader"
)

// Exit codes that the loader understands.
const (
	exitLeaseEnded = 75 // end the machine
	exitFailed     = 1  // start me again
)

// Descriptors that the loader passes on.
const (
	listenerFD = 3
	memoryFD   = 4
	lifeFD     = 5
	loaderFD   = 6
)

// Worker is the Python program that a runtime starts for each service.
type Worker struct {
	Files    fs.FS
	Entry    string // the file to start
	Compiled string // name of a ZIP file with its bytecode, where the machine's cache has one
}

// Main is the program of a machine, started by the loader. It returns the exit
// code.
func Main(w Worker) int {
	debug.SetGCPercent(50) // the machine's memory is for models
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := run(log, w); err != nil {
		log.Error("the runtime cannot go on", "error", err)
		return exitFailed
	}
	return exitLeaseEnded
}

func run(log *slog.Logger, w Worker) error {
	parent := os.Getppid()
	if err := errors.Join(closeMemory(), dieWithParent()); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if os.Getppid() != parent {
		return fmt.Errorf("the loader is gone")
	}
	var boot loader.Boot
	if err := json.Unmarshal([]byte(os.Getenv(loader.BootVariable)), &boot); err != nil {
		return fmt.Errorf("%s is not valid: %w; this program is started by the loader", loader.BootVariable, err)
	}
	forward, err := portforward.Parse(os.Getenv(portforward.Variable))
	if err != nil {
		return err
	}
	listener, err := inherit(listenerFD)
	if err != nil {
		return err
	}
	o := optionsOf(boot)
	o.Forward = forward
	o.Logger, o.Worker, o.WorkerEntry = log, w.Files, w.Entry
	if boot.Cache != "" && w.Compiled != "" {
		o.WorkerCompiled, o.WorkerCompiledSHA256 = filepath.Join(boot.Cache, w.Compiled), boot.Trusted[w.Compiled]
	}
	o.Memory = os.NewFile(memoryFD, "memory")
	o.Life = os.NewFile(lifeFD, "life")
	o.Loader = os.NewFile(loaderFD, "loader")
	for _, fd := range []int{memoryFD, lifeFD, loaderFD} {
		syscall.CloseOnExec(fd)
	}
	if boot.Scratch != "" {
		if err := os.MkdirAll(boot.Scratch, 0o700); err != nil {
			return err
		}
	}
	s, err := New(o)
	if err != nil {
		return err
	}
	return s.Serve(ctx, listener)
}

func inherit(fd uintptr) (net.Listener, error) {
	f := os.NewFile(fd, "listener")
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("descriptor %d is not the loader's socket: %w", fd, err)
	}
	return l, nil
}

func optionsOf(boot loader.Boot) Options {
	o := Options{Version: version(), AdminSHA256: boot.AdminSHA256, Machine: boot.Machine, Python: boot.Python,
		Listen: boot.Listen, Roots: boot.Roots, Scratch: boot.Scratch, Sockets: boot.Sockets, Exclusive: true, FirstLease: httpx.Seconds(boot.BootSeconds)}
	if boot.EndUnix > 0 {
		o.HardEnd = time.Unix(boot.EndUnix, 0)
	}
	return o
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
