package plugintest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/container"
	"github.com/seer-engine/seer/internal/lazyregexp"
)

const (
	simulatorStart = 2 * time.Minute // it may have to be compiled
	simulatorEnd   = 3 * time.Second // from the request to end to the end
)

// simulator is one that runs.
type simulator struct {
	url   string
	cmd   *exec.Cmd
	guard *exec.Cmd
	life  io.Closer // the guard's input
	input io.Closer
	ended chan struct{}
	stop  sync.Once
}

// guardScript ends a process group when its own input ends, which happens however this
// process ends.
const guardScript = `read -r _; kill -s TERM -- "-$1"; sleep 3; kill -s KILL -- "-$1"`

var urlInLine = lazyregexp.New(`https?://[^\s'"]+`)

// startSimulator starts the command and waits for its URL.
func startSimulator(ctx context.Context, s Simulator, dir string, env map[string]string, log io.Writer) (*simulator, error) {
	if len(s.Command) == 0 {
		return &simulator{url: s.URL}, nil
	}
	port, err := container.FreePort() // which stays free while it is compiled
	if err != nil {
		return nil, err
	}
	sim := &simulator{cmd: exec.Command(s.Command[0], s.Command[1:]...), ended: make(chan struct{})}
	sim.cmd.Dir = dir
	sim.cmd.Env = append(os.Environ(), "SEER_SIMULATOR_ADDR=127.0.0.1:"+strconv.Itoa(port))
	for name, value := range env {
		sim.cmd.Env = append(sim.cmd.Env, name+"="+value)
	}
	sim.cmd.Stderr = log
	sim.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	sim.cmd.WaitDelay = simulatorEnd // for what it leaves behind with its output open
	if sim.input, err = sim.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	lines := make(chan string, 1)
	out := &firstLine{lines: lines, rest: log}
	sim.cmd.Stdout = out
	if err := sim.cmd.Start(); err != nil {
		return nil, fmt.Errorf("the simulator does not start: %w; its command is in %s", err, ConfigFile)
	}
	go func() {
		_ = sim.cmd.Wait() // how it ended is of no interest; that it did is
		close(sim.ended)
	}()
	if err := sim.startGuard(); err != nil {
		sim.close()
		return nil, err
	}
	return sim, sim.await(ctx, lines)
}

// await takes the URL out of the first line.
func (s *simulator) await(ctx context.Context, lines <-chan string) error {
	limit := time.NewTimer(simulatorStart)
	defer limit.Stop()
	var err error
	select {
	case line := <-lines:
		if s.url = urlInLine().FindString(line); s.url != "" {
			return nil
		}
		err = noURL(line)
	case <-s.ended:
		err = errors.New("the simulator ended before it wrote the URL of its API in its first line; run its command by hand")
		select {
		case line := <-lines: // all that it wrote is here before its end is
			if urlInLine().FindString(line) == "" {
				err = noURL(line)
			} else {
				err = fmt.Errorf("the simulator ended after its first line %q; run its command by hand", line)
			}
		default:
		}
	case <-limit.C:
		err = fmt.Errorf("the simulator wrote no URL of its API within %v", simulatorStart)
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.close()
	return err
}

func noURL(line string) error {
	return fmt.Errorf("the first line of the simulator is %q, and should be the URL of its API", line)
}

func (s *simulator) startGuard() error {
	s.guard = exec.Command("/bin/sh", "-c", guardScript, "sh", strconv.Itoa(s.cmd.Process.Pid))
	s.guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is not for it
	var err error
	if s.life, err = s.guard.StdinPipe(); err != nil {
		return err
	}
	return s.guard.Start()
}

// close ends it with all processes of its group.
func (s *simulator) close() {
	if s.cmd == nil {
		return
	}
	s.stop.Do(func() {
		group := -s.cmd.Process.Pid
		_ = s.input.Close()
		_ = syscall.Kill(group, syscall.SIGTERM)
		select {
		case <-s.ended:
		case <-time.After(simulatorEnd):
		}
		_ = syscall.Kill(group, syscall.SIGKILL)
		<-s.ended
		if s.guard != nil && s.guard.Process != nil {
			_ = s.guard.Process.Kill()
			_ = s.guard.Wait()
		}
	})
}

// firstLine hands over the first line that is written, and passes on the rest.
type firstLine struct {
	lines chan<- string
	rest  io.Writer
	begun []byte
	done  bool
}

const maxLine = 4 << 10

func (f *firstLine) Write(b []byte) (int, error) {
	if f.done {
		_, _ = f.rest.Write(b) // nobody may listen
		return len(b), nil
	}
	f.begun = append(f.begun, b...)
	n, line, err := bufio.ScanLines(f.begun, len(f.begun) > maxLine)
	if err == nil && n > 0 {
		f.done = true
		f.lines <- string(line)
		_, _ = f.rest.Write(f.begun)
		f.begun = nil
	}
	return len(b), nil
}
