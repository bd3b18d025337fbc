//go:build !linux

package image

import "os/exec"

// runDying runs a program.
func runDying(cmd *exec.Cmd) error { return cmd.Run() }
