package fakerunpod

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/container"
	"github.com/seer-engine/seer/internal/retry"
)

// life is a pod from a start to the next stop.
type life struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when nothing of it is left
}

// notBegun is the life of a pod before its first.
func notBegun() *life {
	l := &life{func() {}, make(chan struct{})}
	close(l.done)
	return l
}

const (
	maxRestartDelay = time.Minute
	steady          = 10 * time.Second // a program that ran this long is started again without a penalty
)

// begin starts a life of the pod in a state. Its files are new ones; those of its
// volumes stay.
func (c *Cloud) begin(p *pod, status string) {
	if c.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	before, b := p.life, c.behaviour
	l := &life{cancel, make(chan struct{})}
	p.life = l
	p.lives++
	dir := filepath.Join(c.podDir(p), strconv.Itoa(p.lives))
	p.setStatus(status, c.now())
	c.work.Go(func() {
		defer close(l.done)
		defer cancel()
		<-before.done
		if c.boot(ctx, p, b, status) {
			c.run(ctx, p, dir)
		}
	})
}

func (c *Cloud) podDir(p *pod) string { return filepath.Join(c.options.Dir, "pods", p.id) }

// boot takes a pod to where its program can be run.
func (c *Cloud) boot(ctx context.Context, p *pod, b Behaviour, status string) bool {
	if b.StuckProvisioning {
		<-ctx.Done()
		return false
	}
	d := c.options.Delays
	switch status {
	case provisioning:
		if !wait(ctx, d.Provision) || !c.advance(ctx, p, starting) {
			return false
		}
		fallthrough
	case starting:
		if !wait(ctx, d.Start) {
			return false
		}
		if b.DieStarting || !c.options.Images(c.image(p)) {
			p.log.add("system", "error creating container: failed to pull the image")
			c.advance(ctx, p, failed)
			return false
		}
		if !c.advance(ctx, p, running) {
			return false
		}
	}
	return wait(ctx, d.Pull)
}

func (c *Cloud) image(p *pod) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return p.Image
}

// advance changes the state of a pod whose life has not been ended meanwhile.
func (c *Cloud) advance(ctx context.Context, p *pod, status string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	p.setStatus(status, c.now())
	return true
}

// run keeps the pod's program running, as RunPod does, until its life ends.
func (c *Cloud) run(ctx context.Context, p *pod, dir string) {
	defer c.put(p, nil)
	for delay := c.options.Delays.Restart; ; delay = min(2*delay, maxRestartDelay) {
		p.log.add("system", "start container "+c.image(p))
		m, err := container.Start(dir, c.spec(p))
		if err != nil {
			p.log.add("system", "error starting container: "+err.Error())
			c.advance(ctx, p, failed)
			return
		}
		c.put(p, m)
		began := time.Now()
		select {
		case <-m.Done():
		case <-ctx.Done():
			c.end(m)
			return
		}
		m.Kill() // nothing outlives the first program of a container
		p.log.add("system", "container exited with code "+strconv.Itoa(m.ExitCode()))
		if time.Since(began) > steady {
			delay = c.options.Delays.Restart
		}
		if !wait(ctx, delay) {
			return
		}
		c.restarted(p)
	}
}

// end gives the program time, but not when the whole cloud ends.
func (c *Cloud) end(m *container.Container) {
	if c.ctx.Err() != nil {
		m.Kill()
		return
	}
	stopped := make(chan struct{})
	go func() {
		m.Stop(c.options.Delays.Stop)
		close(stopped)
	}()
	select {
	case <-stopped:
	case <-c.ctx.Done():
		m.Kill()
		<-stopped
	}
}

func (c *Cloud) put(p *pod, m *container.Container) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.machine, p.upSince = m, c.now()
	if m != nil && p.startedAt.IsZero() {
		p.startedAt = p.upSince
	}
}

func (c *Cloud) restarted(p *pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.restarts++
}

func (c *Cloud) spec(p *pod) container.Spec {
	c.mu.Lock()
	defer c.mu.Unlock()
	argv := p.command()
	if len(argv) == 0 {
		argv = c.options.ImageCommand
	}
	return container.Spec{Argv: argv, Env: c.environ(p), Volumes: c.mounted(p), Python: c.options.Python, Output: p.log}
}

func (c *Cloud) mounted(p *pod) map[string]string {
	folders := map[string]string{}
	if m := p.mounts.Persistent; m != nil {
		folders[m.Path] = filepath.Join(c.podDir(p), "volume")
	}
	for _, m := range p.mounts.Network {
		folders[m.Path] = c.volumeDir(p.volume)
	}
	for _, folder := range folders {
		_ = os.MkdirAll(folder, 0o755) // the container fails on what is missing
	}
	return folders
}

func (c *Cloud) environ(p *pod) map[string]string {
	env := map[string]string{"PUBLIC_KEY": p.publicKey, "JUPYTER_PASSWORD": p.jupyter}
	maps.DeleteFunc(env, func(_, v string) bool { return v == "" })
	maps.Copy(env, p.Env)
	env["RUNPOD_POD_ID"] = p.id
	env["RUNPOD_API_KEY"] = p.key
	env["RUNPOD_DC_ID"] = p.dataCenter
	env["RUNPOD_POD_HOSTNAME"] = p.id + "-" + p.hex
	env["RUNPOD_PUBLIC_IP"] = "127.0.0.1"
	if p.gpu != nil {
		env["RUNPOD_GPU_COUNT"] = strconv.Itoa(p.gpu.Count)
	}
	if p.cpu != nil {
		env["RUNPOD_CPU_COUNT"] = strconv.Itoa(p.cpu.VCPUCount)
	}
	if p.volume != nil {
		env["RUNPOD_VOLUME_ID"] = p.volume.ID
	}
	return env
}

// halt ends the life of a pod and frees what it had.
func (c *Cloud) halt(p *pod, status string) {
	if p.bills() {
		c.free(p, 1)
	}
	p.setStatus(status, c.now())
	p.life.cancel()
}

// terminate ends a pod for ever.
func (c *Cloud) terminate(p *pod) {
	c.halt(p, terminated)
	p.endedAt = c.now()
	if c.ctx.Err() != nil {
		return // Close does the rest
	}
	dir, l := c.podDir(p), p.life
	c.work.Go(func() {
		<-l.done
		p.log.close()
		_ = os.RemoveAll(dir)
	})
}

// free gives back, or with -1 takes, what the pod occupies.
func (c *Cloud) free(p *pod, sign int) {
	if p.gpu != nil {
		c.stock[place{p.gpu.ID, p.dataCenter}] += sign * p.gpu.Count
	} else {
		c.stock[place{p.cpu.ID, p.dataCenter}] += sign
	}
}

// wait sleeps in real time; false when ctx has ended.
func wait(ctx context.Context, d time.Duration) bool { return retry.Sleep(ctx, d) == nil }
