package process

import (
	"cmp"
	"os"
	"os/exec"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/runtime/internal/spawn"
	"github.com/seer-engine/seer/internal/osfile"
)

// maxSize is how many rows and columns a terminal may have.
const maxSize = 10_000

func checkSize(rows, cols int) error {
	if rows < 1 || rows > maxSize || cols < 1 || cols > maxSize {
		return protocol.Errorf(protocol.Invalid, "a terminal of %d rows and %d columns: both must be from 1 to %d", rows, cols, maxSize)
	}
	return nil
}

// openTerminal makes the terminal of the command. Its near end is read, resized and, with
// stdin, written through descriptors that do not block.
func (p *Process) openTerminal(cmd *exec.Cmd) (near, far []*os.File, err error) {
	master, slave, err := pty.Open()
	if err != nil {
		return nil, nil, protocol.Errorf(protocol.Failed, "the machine has no terminal to give: %v", err)
	}
	defer master.Close()
	far = []*os.File{slave}
	if p.terminal, err = osfile.Duplicate(master); err != nil {
		return nil, far, err
	}
	near = []*os.File{p.terminal}
	if err := p.setSize(p.spec.PTY.Rows, p.spec.PTY.Cols); err != nil {
		return near, far, err
	}
	if p.spec.Stdin {
		w, err := osfile.Duplicate(master)
		if err != nil {
			return near, far, err
		}
		p.stdin = &stdin{w: w, terminal: true}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = spawn.TerminalAttr()
	return near, far, nil
}

func (p *Process) setSize(rows, cols int) error {
	raw, err := p.terminal.SyscallConn()
	if err != nil {
		return err
	}
	cerr := raw.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(cols)})
	})
	return cmp.Or(cerr, err)
}

// Resize sets the size of the terminal; the program in it gets SIGWINCH.
func (p *Process) Resize(rows, cols int) error {
	if p.terminal == nil {
		return protocol.Errorf(protocol.Invalid, "the process has no terminal (pty) that could be resized")
	}
	if err := checkSize(rows, cols); err != nil {
		return err
	}
	err := p.setSize(rows, cols)
	if err != nil && p.root() == 0 {
		return protocol.Errorf(protocol.Conflict, "the process has ended, and its terminal with it")
	}
	return err
}
