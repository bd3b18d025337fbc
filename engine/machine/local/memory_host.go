package local

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/isolation"
	"github.com/seer-engine/seer/sdk"
)

// hostNote is what saved processes need of a computer.
type hostNote struct {
	Arch     string   `json:"arch"`
	Features []string `json:"features"` // of the processor
	GVisor   string   `json:"gvisor"`
	GPU      *gpuNote `json:"gpu,omitempty"` // of processes that were on one
}

func (p *provider) host(ctx context.Context) (hostNote, error) {
	version, err := isolation.GVisorVersion(ctx, p.Places...)
	return hostNote{Arch: runtime.GOARCH, Features: processorFeatures(), GVisor: version}, err
}

// processorFeatures are those that the kernel tells, sorted; none where it does not.
func processorFeatures() []string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return nil
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		if name = strings.TrimSpace(name); name == "flags" || name == "Features" {
			found := strings.Fields(value)
			slices.Sort(found)
			return found
		}
	}
	return nil
}

// refuses says what of this computer does not fit; empty if all does.
func (h hostNote) refuses(here hostNote) string {
	switch {
	case h.Arch != here.Arch:
		return fmt.Sprintf("they were saved on %s, and this computer is %s", h.Arch, here.Arch)
	case h.GVisor != here.GVisor:
		return fmt.Sprintf("gVisor %s has saved them, and %s is installed here", h.GVisor, here.GVisor)
	}
	var missing []string
	for _, name := range h.Features {
		if !slices.Contains(here.Features, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return "this computer's processor lacks " + strings.Join(missing, ", ")
	}
	return ""
}

func newParkID() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func (p *provider) Fits(ctx context.Context, dir string) (sdk.MachineSpec, error) {
	l, err := readLaunch(filepath.Join(dir, memoryNote))
	if err != nil {
		return sdk.MachineSpec{}, err
	}
	refuse := func(format string, args ...any) (sdk.MachineSpec, error) {
		return sdk.MachineSpec{}, sdk.Errorf(sdk.Unsupported, "the saved processes cannot go on here: "+format, args...)
	}
	here, err := p.host(ctx)
	if err != nil {
		return sdk.MachineSpec{}, err
	}
	if why := l.Host.refuses(here); why != "" {
		return refuse("%s", why)
	}
	if l.Host.GPU != nil {
		set, err := p.GPUs(ctx)
		if err != nil {
			return sdk.MachineSpec{}, err
		}
		if why := l.Host.GPU.refuses(set); why != "" {
			return refuse("%s", why)
		}
		if err := checkMemory(p.memoryFree, l.Host.GPU.bytes(), 1); err != nil {
			return sdk.MachineSpec{}, err
		}
	}
	binaries, err := p.runtimes.find()
	if err != nil {
		return sdk.MachineSpec{}, err
	}
	if _, ok := binaries[l.Runtime]; !ok {
		return refuse("they belong to another build of Seer's runtime, sha256:%.12s…", l.Runtime)
	}
	needed := slices.Clone(l.ReadOnly)
	for _, m := range l.Spec.Mounts {
		needed = append(needed, m.Source)
	}
	for _, path := range needed {
		if _, err := os.Lstat(path); err != nil {
			return refuse("they need %s, which is not here (a model, a layer of packages, or Python)", path)
		}
	}
	for _, name := range []string{"checkpoint.img", "pages.img", "pages_meta.img"} {
		if _, err := os.Stat(filepath.Join(dir, MemoryImages, name)); err != nil {
			return refuse("%s is missing", name)
		}
	}
	spec := l.Spec
	spec.AnyPort = slices.Clone(spec.Ports) // those of the original are its own
	return spec, nil
}
