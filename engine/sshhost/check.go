package sshhost

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/image"
	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/policy"
	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/gpu"
)

// checker looks at a host for what machines need there. Its functions are those of this host, but
// for tests.
type checker struct {
	getenv     func(string) string
	isolations func(context.Context) []sdk.Isolation
	gpus       func(context.Context) (isolation.GPUSet, error)
	cuda       func(ctx context.Context, tool string) string
	namespaces func() error
	policy     func() (policy.Policy, error)
	networked  func(string) (bool, error)
	reach      func(ctx context.Context, host string) error
	leave      func(ctx context.Context) string // what happens to processes of a user who logs out; empty = nothing
}

func newChecker() *checker {
	return &checker{
		getenv: os.Getenv, gpus: isolation.GPUs, cuda: cudaOf, namespaces: userNamespaces, policy: policy.Read, networked: networkDisk,
		isolations: func(ctx context.Context) []sdk.Isolation { return isolation.Detect(ctx, toolPlaces(os.Getenv)...) },
		reach:      reach, leave: afterLogout,
	}
}

// check looks at a login host, where machines are below the user's folders.
func (c *checker) check(ctx context.Context, where place, cache string, q sdk.CheckQuery) []sdk.Finding {
	found := c.common(ctx, q)
	home := sdk.Finding{Name: "home folder", State: sdk.FindingOK, Detail: "on a disk of its own"}
	if where.moved != "" {
		home.Detail = fmt.Sprintf("%s; machines are kept in %s", where.moved, where.state)
	}
	found = append(found, home, disk("state folder", where.state, q.DiskGB, "XDG_STATE_HOME"), disk("cache folder", cache, 0, "XDG_CACHE_HOME"))
	if kills := c.leave(ctx); kills != "" {
		found = append(found, sdk.Finding{Name: "processes after logout", State: sdk.FindingWarning, Detail: kills,
			Fix: "machines end with your last session; ask an administrator to set KillUserProcesses=no, or to add you to KillExcludeUsers, in /etc/systemd/logind.conf"})
	}
	return found
}

// checkNode looks at a computer on which a job runs: its machine is on the computer's own disk.
func (c *checker) checkNode(ctx context.Context, q sdk.CheckQuery) []sdk.Finding {
	dir := c.getenv("SEER_NODE_DIR") // as package batchjob has it
	if dir == "" {
		dir = c.getenv("TMPDIR")
		if far, err := c.networked(dir); dir == "" || err != nil || far {
			dir = "/tmp"
		}
	}
	dir = existing(dir)
	scratch := disk("node-local scratch", dir, q.DiskGB, "SEER_NODE_DIR")
	if far, err := c.networked(dir); err != nil || far {
		scratch = sdk.Finding{Name: scratch.Name, State: sdk.FindingFailed, Detail: dir + " is on a file system of the network, where sockets and locks do not work",
			Fix: "name a folder on the node's own disk in SEER_NODE_DIR, by provider_options.slurm.setup"}
	}
	return append(c.common(ctx, q), scratch)
}

// common is what every computer needs that is to have machines.
func (c *checker) common(ctx context.Context, q sdk.CheckQuery) []sdk.Finding {
	found := []sdk.Finding{{Name: "system", State: sdk.FindingOK, Detail: fmt.Sprintf("%s/%s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())}}
	if q.Image == "" {
		found = append(found, c.python(ctx, q))
	}
	found = append(found, c.image(q)...)
	found = append(found, c.isolation(ctx, q)...)
	found = append(found, c.gpu(ctx, q)...)
	found = append(found, c.allowed(q)...)
	return append(found, c.egress(ctx, q)...)
}

func (c *checker) python(ctx context.Context, q sdk.CheckQuery) sdk.Finding {
	f := sdk.Finding{Name: "python", State: sdk.FindingOK}
	found, err := Python(ctx, c.getenv)
	if q.PythonVersion != "" {
		f.Name += " " + q.PythonVersion
		found, err = PythonVersion(ctx, c.getenv, q.PythonVersion)
	}
	if err != nil {
		f.State, f.Detail = sdk.FindingFailed, err.Error()
		f.Fix = "install it there, without root by uv or conda, and put it into the PATH of SSH sessions; or ask for another python_version"
		return f
	}
	f.Detail = found.Executable + " " + found.Version
	return f
}

// image wants an image that is a file or folder there, and what unpacks it. Python is in the image.
func (c *checker) image(q sdk.CheckQuery) []sdk.Finding {
	if !filepath.IsAbs(q.Image) {
		return nil
	}
	f := sdk.Finding{Name: "image " + q.Image, State: sdk.FindingOK, Detail: "is there"}
	packed, err := image.CheckFile(q.Image)
	if err != nil {
		f.State, f.Detail, f.Fix = sdk.FindingFailed, err.Error(), "name in sandbox.image.base a folder, or a file of squashfs or Apptainer, that your user can read there"
		return []sdk.Finding{f}
	}
	if !packed {
		return []sdk.Finding{f}
	}
	tool := sdk.Finding{Name: "unsquashfs", State: sdk.FindingOK}
	if tool.Detail, err = image.FindUnsquashfs(c.getenv("PATH")); err != nil {
		tool.State, tool.Detail, tool.Fix = sdk.FindingFailed, err.Error(), "have squashfs-tools installed there, or name a folder with the unpacked image in sandbox.image.base"
	}
	return []sdk.Finding{f, tool}
}

// isolation wants the isolation that is asked for, or else any that keeps a sandbox apart.
func (c *checker) isolation(ctx context.Context, q sdk.CheckQuery) []sdk.Finding {
	f := sdk.Finding{Name: "isolation", State: sdk.FindingFailed}
	var reasons, usable []string
	for _, i := range c.isolations(ctx) {
		wanted := q.Isolation == i.Name || (q.Isolation == "" || q.Isolation == "auto") && i.Name != isolation.None
		switch {
		case i.Usable && i.Name != isolation.None:
			usable = append(usable, i.Name)
		case !i.Usable && wanted:
			reasons = append(reasons, i.Name+": "+i.Reason)
		}
		if i.Usable && wanted {
			f.State = sdk.FindingOK
		}
	}
	switch {
	case f.State == sdk.FindingOK && q.Isolation == isolation.None:
		f.Detail = "none was asked for; nothing keeps a sandbox apart"
	case f.State == sdk.FindingOK:
		f.Detail = strings.Join(usable, " and ") + " work"
		if len(usable) == 1 {
			f.Detail += "s"
		}
	default:
		f.Detail = strings.Join(reasons, "; ")
		f.Fix = "have bubblewrap installed there (package bubblewrap), or set sandbox.isolation to none to do without"
	}
	found := []sdk.Finding{f}
	if err := c.namespaces(); err != nil {
		n := sdk.Finding{Name: "user namespaces", State: sdk.FindingWarning, Detail: err.Error(),
			Fix: "ask an administrator: sysctl user.max_user_namespaces must not be 0, and kernel.apparmor_restrict_unprivileged_userns not 1 unless bubblewrap has a profile"}
		if f.State == sdk.FindingOK { // another way works
			n.State, n.Detail, n.Fix = sdk.FindingOK, "not for every program, which the isolation does without", ""
		}
		found = append(found, n)
	} else if runtime.GOOS == "linux" {
		found = append(found, sdk.Finding{Name: "user namespaces", State: sdk.FindingOK, Detail: "allowed"})
	}
	return found
}

// gpu wants the GPUs that are asked for; without a question, it tells what there is.
func (c *checker) gpu(ctx context.Context, q sdk.CheckQuery) []sdk.Finding {
	set, err := c.gpus(ctx)
	f := sdk.Finding{Name: "GPUs, driver, CUDA", State: sdk.FindingOK}
	var names []string
	fit := 0
	for _, g := range set.Found {
		names = append(names, g.Name)
		if q.GPU == "*" || q.GPU != "" && gpu.Match(q.GPU, gpu.Canonical(g.Name)) {
			fit++
		}
	}
	what := "no NVIDIA GPU"
	if len(names) > 0 {
		what = fmt.Sprintf("%s; driver %s, CUDA %s", strings.Join(counted(names), ", "), set.Driver, c.cuda(ctx, set.Tool))
	}
	switch problem := firstText(errText(err), set.Reason); {
	case problem != "" && q.GPU != "":
		f.State, f.Detail, f.Fix = sdk.FindingFailed, problem, "have NVIDIA's driver and nvidia-smi work there"
	case problem != "":
		f.State, f.Detail, f.Fix = sdk.FindingWarning, problem, "have NVIDIA's driver and nvidia-smi work there, before an experiment needs a GPU"
	case q.GPU != "" && fit < max(1, q.GPUCount):
		f.State, f.Detail = sdk.FindingFailed, fmt.Sprintf("%d × %s wanted; there is %s", max(1, q.GPUCount), q.GPU, what)
		f.Fix = "ask for a GPU that is there, or name another host"
	case len(names) == 0:
		return nil
	default:
		f.Detail = what
	}
	return []sdk.Finding{f}
}

// allowed is what the administrator of the host says of what is asked for.
func (c *checker) allowed(q sdk.CheckQuery) []sdk.Finding {
	f := sdk.Finding{Name: "administrator's policy", State: sdk.FindingFailed, Fix: "ask the administrator of that host, who can change " + policy.File}
	rules, err := c.policy()
	if err == nil && rules.File == "" {
		return nil
	}
	if err == nil {
		err = rules.Provider(local.Name)
	}
	if err == nil && q.Network != "" {
		err = rules.Network(q.Network, nil)
	}
	if err == nil && q.Isolation != "" && q.Isolation != "auto" {
		err = rules.Isolation(q.Isolation)
	}
	if err == nil && q.GPU != "" {
		err = rules.GPUs(0, max(1, q.GPUCount))
	}
	if err != nil {
		f.Detail = err.Error()
		return []sdk.Finding{f}
	}
	return []sdk.Finding{{Name: f.Name, State: sdk.FindingOK, Detail: rules.String()}}
}

// egress connects to what machines will connect to. A mirror or files that are there already may
// do instead, so that this is only a warning.
func (c *checker) egress(ctx context.Context, q sdk.CheckQuery) (found []sdk.Finding) {
	if q.Network == "none" {
		return nil
	}
	hosts := slices.Compact(slices.Sorted(slices.Values(q.Hosts)))
	errs := make([]error, len(hosts))
	done := make(chan int)
	for i, host := range hosts {
		go func() {
			errs[i] = c.reach(ctx, host)
			done <- i
		}()
	}
	for range hosts {
		<-done
	}
	for i, host := range hosts {
		f := sdk.Finding{Name: "connection to " + host, State: sdk.FindingOK, Detail: "TCP and TLS work"}
		if errs[i] != nil {
			f.State, f.Detail = sdk.FindingWarning, errs[i].Error()
			f.Fix = "set HTTPS_PROXY or a mirror for the sessions of that host, or have there what would be downloaded"
		}
		found = append(found, f)
	}
	return found
}

// least is the free space, in bytes, and the free files below which a folder is nearly full.
const least, leastFiles = 2 << 30, 10_000

// disk looks at the space of a folder and writes there, which quotas may forbid that statfs does
// not show.
func disk(name, dir string, wantGB int, variable string) sdk.Finding {
	f := sdk.Finding{Name: name, State: sdk.FindingFailed, Fix: fmt.Sprintf("free space or raise the quota there, or name another folder in %s for the sessions of that host", variable)}
	at := existing(dir)
	bytes, files, err := free(at)
	if err == nil {
		err = tryWrite(at)
	}
	if err != nil {
		f.Detail = fmt.Sprintf("cannot write to %s: %v", dir, err)
		return f
	}
	f.Detail = fmt.Sprintf("%.1f GB free in %s", float64(bytes)/1e9, dir)
	if files >= 0 {
		f.Detail = fmt.Sprintf("%.1f GB and %d files free in %s", float64(bytes)/1e9, files, dir)
	}
	switch {
	case wantGB > 0 && bytes < int64(wantGB)*1e9:
		f.Detail = fmt.Sprintf("%d GB wanted; %s", wantGB, f.Detail)
	case bytes < least, files >= 0 && files < leastFiles:
		f.State = sdk.FindingWarning
	default:
		f.State, f.Fix = sdk.FindingOK, ""
	}
	return f
}

// tryWrite writes a file that no quota overlooks, and removes it.
func tryWrite(dir string) error {
	file, err := os.CreateTemp(dir, ".seer-check-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if _, err := file.Write(make([]byte, 1<<20)); err != nil {
		return err
	}
	return file.Sync()
}

// counted are names, each once with its number.
func counted(names []string) (out []string) {
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		n := 0
		for _, other := range names {
			if other == name {
				n++
			}
		}
		out = append(out, fmt.Sprintf("%d × %s", n, name))
	}
	return out
}

func firstText(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// cacheOf is the folder of the user's cache on this host, whether it is there or not.
func (p place) cacheOf(getenv func(string) string) string {
	if p.cache != "" {
		return p.cache
	}
	base := getenv("XDG_CACHE_HOME")
	if base == "" {
		base = filepath.Join(getenv("HOME"), ".cache")
	}
	return filepath.Join(base, "seer")
}
