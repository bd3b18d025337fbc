package cli

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
)

// xdgNothing is the code of xdg-open where there is nothing that could open it.
const xdgNothing = 3

// Browser is the program of the desktop that opens addresses, or an error that says that there is
// none.
func Browser() (string, error) {
	command := "xdg-open"
	if runtime.GOOS == "darwin" {
		command = "open"
	}
	path, err := exec.LookPath(command)
	if err != nil {
		return "", errors.New("there is no " + command)
	}
	return path, nil
}

// Browse has a program of [Browser] open an address. Every user of this computer can read the
// address.
func Browse(ctx context.Context, program, address string) error {
	err := exec.CommandContext(ctx, program, address).Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && runtime.GOOS != "darwin" && exit.ExitCode() == xdgNothing {
		return errors.New("xdg-open has found none")
	}
	return err
}
