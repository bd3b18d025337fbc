package fakemodal

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/container"
	"github.com/seer-engine/seer/engine/runtime/loader"
)

// boot starts the machine.
func (sb *sandbox) boot() error {
	dir, err := sb.prepare()
	if err != nil {
		return err
	}
	spec := container.Spec{Argv: sb.argv(), Env: sb.environment(), Volumes: sb.mounts(), Python: sb.cloud.python(sb.image),
		Output: sb.out, Errors: sb.errs, Stdin: sb.stdin.read, Dir: cmp.Or(sb.def.GetWorkdir(), sb.image.config.Workdir)}
	if sb.def.GetPtyInfo().GetEnabled() {
		spec.Errors = sb.out
	}
	if err := sb.placeFiles(dir); err != nil {
		return err
	}
	if spec.Dir != "" {
		if err := os.MkdirAll(sb.folderIn(dir)(spec.Dir), 0o755); err != nil {
			return err
		}
	}
	c, err := container.Start(dir, spec)
	if err != nil {
		return fmt.Errorf("Sandbox failed to start: %w", err) //nolint:staticcheck // as the cloud says it
	}
	sb.cloud.record(Event{Kind: "start", Machine: sb.id})
	sb.cloud.mu.Lock()
	sb.container, sb.started, sb.lastUse = c, sb.cloud.now(), time.Now()
	sb.cloud.mu.Unlock()
	close(sb.tasked)
	sb.cloud.work.Add(1)
	go sb.openTunnels()
	return nil
}

// prepare makes the folder of a container with what its image has.
func (sb *sandbox) prepare() (string, error) {
	dir, err := sb.cloud.newFolder("machines", sb.id)
	if err != nil {
		return "", err
	}
	sb.folder = dir
	for im := sb.image; im != nil; im = im.base {
		if im.dir != "" {
			return dir, container.Copy(sb.cloud.ctx, dir, im.dir)
		}
	}
	return dir, nil
}

// argv is the entry point, or one that waits.
func (sb *sandbox) argv() []string {
	argv := sb.def.GetEntrypointArgs()
	if len(argv) == 0 {
		return []string{"sleep", "infinity"}
	}
	if _, ok := sb.vars[loader.BootVariable]; ok {
		return argv // the container moves its paths
	}
	return sb.local(argv, sb.folderIn(sb.folder))
}

func (sb *sandbox) environment() map[string]string {
	env := map[string]string{"MODAL_SANDBOX_ID": sb.id, "MODAL_TASK_ID": sb.task, "MODAL_IMAGE_ID": sb.image.id,
		"MODAL_ENVIRONMENT": sb.app.env, "MODAL_CLOUD_PROVIDER": "CLOUD_PROVIDER_AWS", "MODAL_REGION": "us-east-1"}
	maps.Copy(env, sb.image.config.Env)
	maps.Copy(env, sb.vars)
	return env
}

// mounts are the folders of the volumes by path.
func (sb *sandbox) mounts() map[string]string {
	sb.cloud.mu.Lock()
	defer sb.cloud.mu.Unlock()
	out := map[string]string{}
	for _, m := range sb.def.GetVolumeMounts() {
		if v, err := sb.cloud.volume(m.GetVolumeId()); err == nil {
			out[m.GetMountPath()] = filepath.Join(v.dir, m.GetSubPath())
		}
	}
	return out
}

// openTunnels opens the ports, unless the faults say no.
func (sb *sandbox) openTunnels() {
	defer sb.cloud.work.Done()
	defer close(sb.up)
	f := sb.cloud.faults.get()
	if f.TunnelNever {
		<-sb.done
		return
	}
	select {
	case <-time.After(sb.cloud.opts.TunnelTime + f.TunnelDelay):
	case <-sb.done:
		return
	}
	var open []*tunnel
	for _, spec := range sb.def.GetOpenPorts().GetPorts() {
		t, err := openTunnel(sb, spec)
		if err != nil {
			sb.cloud.logf("%s: tunnel: %v", sb.id, err)
			continue
		}
		open = append(open, t)
	}
	sb.cloud.record(Event{Kind: "tunnels", Machine: sb.id})
	sb.cloud.mu.Lock()
	shut := sb.shut
	if !shut {
		sb.tunnels = open
	}
	sb.cloud.mu.Unlock()
	if shut {
		closeAll(open)
	}
}

func closeAll(tunnels []*tunnel) {
	for _, t := range tunnels {
		t.close()
	}
}
