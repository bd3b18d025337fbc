package modal

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"net/netip"
	"path"
	"strings"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/seer-engine/seer/sdk"
)

// order is a spec that Modal can be asked for.
type order struct {
	sdk.MachineSpec
	options
	gpu    *choice // nil = none
	count  int
	name   string // of the sandbox; one key has one name, and Modal one sandbox of a name
	layers []layer
}

const (
	defaultLifeSeconds = 60 * 60 // when the spec leaves it open
	diskGB             = 512     // that every machine has
)

func newOrder(spec sdk.MachineSpec, list priceList) (order, error) {
	o := order{MachineSpec: spec, name: sandboxName(spec.Key), count: max(spec.GPUCount, 1)}
	var err error
	if o.options, err = parseOptions(spec.Options); err != nil {
		return o, err
	}
	for _, check := range []func(priceList) error{o.chooseGPU, o.checkLife, o.checkPlace, o.checkVolumes} {
		if err := check(list); err != nil {
			return o, err
		}
	}
	o.layers, err = layers(spec.Image)
	return o, err
}

func (o *order) chooseGPU(list priceList) error {
	want := o.Offer
	if want == "" {
		want = o.GPU
	}
	if want == "" || want == cpuOffer {
		return nil
	}
	choices := list.choices(want)
	if len(choices) == 0 {
		return sdk.Errorf(sdk.Invalid, "Modal has no GPU %q; it has %s", want, strings.Join(list.names(), ", "))
	}
	if o.count > choices[0].Max {
		return sdk.Errorf(sdk.Invalid, "Modal puts at most %d of %s into one machine, not %d", choices[0].Max, choices[0].Name, o.count)
	}
	o.gpu = &choices[0]
	return nil
}

func (o *order) checkLife(priceList) error {
	if o.TimeoutSeconds < 0 || o.TimeoutSeconds > maxLifeSeconds {
		return sdk.Errorf(sdk.Invalid, "a machine of Modal's lives at most 24 hours, not %d s; lower the timeout and go on from a snapshot", o.TimeoutSeconds)
	}
	if o.TimeoutSeconds == 0 {
		o.TimeoutSeconds = defaultLifeSeconds
	}
	return nil
}

func (o *order) checkPlace(priceList) error {
	switch {
	case len(o.Command) == 0 || o.Port <= 0:
		return sdk.Errorf(sdk.Invalid, "a machine needs a command and a port")
	case o.Isolation != "" && o.Isolation != "auto":
		return sdk.Errorf(sdk.Unsupported, "isolation %q cannot be chosen on Modal, which isolates every machine itself; leave it out", o.Isolation)
	case o.DiskGB > diskGB:
		return sdk.Errorf(sdk.Unsupported, "a machine of Modal's has a disk of %d GB, not %d; use a volume for more", diskGB, o.DiskGB)
	case len(o.Mounts) > 0:
		return sdk.Errorf(sdk.Unsupported, "folders of this computer cannot be mounted on Modal")
	case o.Network != "" && o.Network != "open" && o.Network != "none" && o.Network != "hosts":
		return sdk.Errorf(sdk.Unsupported, "network %q is not known on Modal; it has open, none and a list of hosts", o.Network)
	}
	return nil
}

func (o *order) checkVolumes(priceList) error {
	for _, v := range o.Volumes {
		if !objectName.MatchString(v.Name) {
			return sdk.Errorf(sdk.Invalid, "%q is not a name for a volume; Modal's names are up to 64 letters, digits, - _ and .", v.Name)
		}
		if !path.IsAbs(v.Path) {
			return sdk.Errorf(sdk.Invalid, "the volume %s needs an absolute path in the machine, not %q", v.Name, v.Path)
		}
	}
	return nil
}

// backend is which of Modal's two back ends gets the machine.
func (o *order) backend(s settings) int {
	if o.gpu != nil {
		return 1 // the only one with GPUs
	}
	return s.cpuBackend
}

// life is how long the machine may live from now on, in seconds. Modal counts from
// the sandbox's creation, and what was spent on the image has gone by.
func (o *order) life(now time.Time) (uint32, error) {
	life := o.TimeoutSeconds
	if o.EndUnix > 0 {
		life = min(life, o.EndUnix-now.Unix())
	}
	if life <= 0 {
		return 0, sdk.Errorf(sdk.Invalid, "the machine's time was over before its image was built; raise the timeout")
	}
	return uint32(life), nil
}

// definition is the sandbox that Modal is asked for.
func (o *order) definition(image string, volumes []string, life uint32) *pb.Sandbox {
	ports := []*pb.PortSpec{pb.PortSpec_builder{Port: uint32(o.Port)}.Build()}
	for _, port := range o.Ports {
		if port != o.Port {
			ports = append(ports, pb.PortSpec_builder{Port: uint32(port)}.Build())
		}
	}
	var mounts []*pb.VolumeMount
	for i, v := range o.Volumes {
		mounts = append(mounts, pb.VolumeMount_builder{
			VolumeId: volumes[i], MountPath: v.Path, ReadOnly: v.ReadOnly, AllowBackgroundCommits: true,
		}.Build())
	}
	var placement *pb.SchedulerPlacement
	if len(o.Regions) > 0 {
		placement = pb.SchedulerPlacement_builder{Regions: o.Regions}.Build()
	}
	return pb.Sandbox_builder{
		EntrypointArgs:     o.Command,
		ImageId:            image,
		TimeoutSecs:        life,
		Resources:          o.resources(),
		VolumeMounts:       mounts,
		OpenPorts:          pb.PortSpecs_builder{Ports: ports}.Build(),
		NetworkAccess:      o.network(),
		CloudProviderStr:   o.Cloud,
		SchedulerPlacement: placement,
		Name:               &o.name,
	}.Build()
}

// resources are what was asked for and no more, because Modal bills what is used above
// it, too. What was not asked for is Modal's to give.
func (o *order) resources() *pb.Resources {
	cpu, memory := uint32(math.Ceil(o.CPU*1000)), uint32(math.Ceil(o.MemoryGB*1024))
	r := pb.Resources_builder{
		MilliCpu: cpu, MilliCpuMax: cpu, MemoryMb: memory, MemoryMbMax: memory, GpuConfig: &pb.GPUConfig{},
	}
	if o.gpu != nil {
		r.GpuConfig = pb.GPUConfig_builder{GpuType: o.gpu.ID, Count: uint32(o.count)}.Build()
	}
	return r.Build()
}

// network is what the machine may reach. Blocking it altogether would block the
// tunnels, too; nothing allowed is the same for what goes out.
func (o *order) network() *pb.NetworkAccess {
	access := pb.NetworkAccess_builder{NetworkAccessType: pb.NetworkAccess_OPEN}
	if o.Network == "none" || o.Network == "hosts" {
		access.NetworkAccessType = pb.NetworkAccess_ALLOWLIST
	}
	if o.Network == "hosts" {
		for _, host := range o.NetworkHosts {
			if cidr, ok := asCIDR(host); ok {
				access.AllowedCidrs = append(access.AllowedCidrs, cidr)
			} else {
				access.AllowedDomains = append(access.AllowedDomains, host)
			}
		}
	}
	return access.Build()
}

func asCIDR(host string) (string, bool) {
	if prefix, err := netip.ParsePrefix(host); err == nil {
		return prefix.String(), true
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return "", false
	}
	return netip.PrefixFrom(addr, addr.BitLen()).String(), true
}

// sandboxName is the key where Modal accepts it as a name.
func sandboxName(key string) string {
	if objectName.MatchString(key) && !strings.HasPrefix(key, "ap-") {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "seer-" + hex.EncodeToString(sum[:20])
}
