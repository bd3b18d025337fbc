package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

// bare starts a command as the local provider starts a machine, with the same
// mounts, and waits for its end: the least that a sandbox of this isolation costs.
func (h *helper) bare(ctx context.Context, r request) (any, error) {
	python, err := isolation.Python(ctx, h.lookupPython)
	if err != nil {
		return nil, err
	}
	spec := isolation.Spec{
		Argv: append([]string{python.Executable}, r.Argv...), Network: true, PIDOne: true, ReadOnly: python.Paths,
		Env: map[string]string{"HOME": "/home/seer", "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin", "TMPDIR": "/tmp", "USER": "seer"},
	}
	if r.Isolation == isolation.Bubblewrap {
		if spec.Mounts, err = h.mounts(r.Dir); err != nil {
			return nil, err
		}
		spec.Dir = "/workspace"
	}
	begin := time.Now()
	cmd, err := isolation.Command(r.Isolation, spec)
	if err != nil {
		return nil, err
	}
	defer isolation.Release(cmd)
	cmd.Stderr = os.Stderr
	err = isolation.Thread(r.Isolation, cmd.Run)
	return since(begin), err
}

// mounts are those of a machine without models.
func (h *helper) mounts(dir string) ([]sdk.Mount, error) {
	all := []sdk.Mount{{Source: h.artifacts, Target: "/seer/runtime"}}
	for _, target := range []string{"/workspace", "/tmp", "/home/seer", "/run/seer", "/seer/scratch", "/seer/cache"} {
		source := filepath.Join(dir, target)
		if err := os.MkdirAll(source, 0o700); err != nil {
			return nil, err
		}
		all = append(all, sdk.Mount{Source: source, Target: target, Writable: true})
	}
	return all, nil
}

// spawn runs a command as any Go program would.
func (h *helper) spawn(ctx context.Context, r request) (any, error) {
	begin := time.Now()
	err := exec.CommandContext(ctx, r.Argv[0], r.Argv[1:]...).Run()
	return since(begin), err
}

// exec runs a command in a sandbox over a connection that is kept.
func (h *helper) exec(ctx context.Context, r request) (any, error) {
	s, err := h.open(ctx, r.Sandbox)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	p, err := s.Runtime().Processes().Run(ctx, protocol.ProcessSpec{Argv: r.Argv}, nil, nil, nil)
	if err == nil && p.ExitCode != 0 {
		err = fmt.Errorf("%q ended with %d", r.Argv, p.ExitCode)
	}
	return since(begin), err
}
