package runpod

import (
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/plugins/internal/shell"
	"github.com/seer-engine/seer/sdk"
)

// RunPod's limits on one pod.
const (
	maxVariables = 50
	maxPorts     = 10 // that the proxy leads to
)

const defaultPython = "3.12"

var (
	pythonForm = regexp.MustCompile(`^3\.[0-9]{1,2}(\.[0-9]{1,2})?$`)
	imageForm  = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._:/@-]{0,254}$`)
)

// podRequest is the body of a request for a pod.
type podRequest struct {
	Name        string            `json:"name"`
	Image       string            `json:"image,omitempty"`
	Args        string            `json:"args"`
	Disk        int               `json:"disk"` // GB
	Env         map[string]string `json:"env"`
	Ports       []string          `json:"ports"`
	Registry    string            `json:"registry,omitempty"`
	Cloud       string            `json:"cloud"`
	GPU         *gpuRequest       `json:"gpu,omitempty"`
	CPU         *cpuRequest       `json:"cpu,omitempty"`
	Mounts      *mounts           `json:"mounts,omitempty"`
	DataCenters []string          `json:"dataCenterIds,omitempty"`
	Template    string            `json:"templateId,omitempty"`
}

type gpuRequest struct {
	ID          string `json:"id"`
	Count       int    `json:"count"` // without it RunPod finds no machine
	MinCuda     string `json:"minCudaVersion,omitempty"`
	RAMPerGPU   int    `json:"minRamPerGpu,omitempty"` // GB
	VCPUsPerGPU int    `json:"minVcpuCountPerGpu,omitempty"`
}

type cpuRequest struct {
	ID    string `json:"id"`
	VCPUs int    `json:"vcpuCount"`
}

type mounts struct {
	Network []networkMount `json:"network"`
}

type networkMount struct {
	Volume string `json:"volumeId"`
	Path   string `json:"path"`
}

// machine is what a spec asks for, checked: nothing of it can fail but what only
// RunPod knows.
type machine struct {
	spec    sdk.MachineSpec
	options options
	body    podRequest // but where it is placed
	id      identity
}

func newMachine(spec sdk.MachineSpec, s settings) (machine, error) {
	m := machine{spec: spec}
	for _, step := range []func() error{m.refuse, m.identify, m.readOptions, m.readImage, m.readPorts} {
		if err := step(); err != nil {
			return m, err
		}
	}
	if err := m.readEnv(s); err != nil {
		return m, err
	}
	m.body.Disk = diskOf(spec.DiskGB)
	var err error
	m.body.Args, err = m.args()
	return m, err
}

// refuse names what RunPod cannot do. To leave it out silently would be less than
// the user has asked for.
func (m *machine) refuse() error {
	s := m.spec
	switch {
	case s.Isolation != "" && s.Isolation != "auto":
		return sdk.Errorf(sdk.Unsupported, "RunPod has one kind of isolation; leave isolation out")
	case s.Network != "" && s.Network != "open":
		return sdk.Errorf(sdk.Unsupported, "RunPod cannot cut a machine off the network (network: %s); use network: open, or another provider", s.Network)
	case len(s.Mounts) > 0:
		return sdk.Errorf(sdk.Unsupported, "RunPod cannot mount %s, which is on this computer", s.Mounts[0].Source)
	case s.Image != nil && s.Image.Snapshot != "":
		return sdk.Errorf(sdk.Unsupported, "RunPod keeps no snapshots; start from an image")
	case len(s.Command) == 0:
		return sdk.Errorf(sdk.Invalid, "the machine has no command")
	}
	return checkVolumes(s.Volumes)
}

func (m *machine) identify() (err error) {
	m.id, err = identityOf(m.spec)
	m.body.Name = m.id.String()
	return err
}

func (m *machine) readOptions() (err error) {
	m.options, err = parseOptions(m.spec.Options)
	m.body.Cloud, m.body.Template, m.body.Registry = m.options.Cloud, m.options.Template, m.options.Registry
	if err == nil && len(m.spec.Volumes) > 0 && m.options.Cloud != secure {
		return sdk.Errorf(sdk.Invalid, "RunPod's %s cloud has no network volumes; leave provider_options.cloud out, or the volume", m.options.Cloud)
	}
	return err
}

// readImage leaves the image to the template where the user names only that.
func (m *machine) readImage() error {
	image := m.spec.Image
	if image == nil {
		image = &sdk.Image{}
	}
	switch {
	case image.Base != "":
		if !imageForm.MatchString(image.Base) {
			return sdk.Errorf(sdk.Invalid, "%q is not a name of an image in a registry", image.Base)
		}
		m.body.Image = image.Base
	case image.PythonVersion != "":
		if !pythonForm.MatchString(image.PythonVersion) {
			return sdk.Errorf(sdk.Invalid, "%q is not a version of Python such as %s", image.PythonVersion, defaultPython)
		}
		m.body.Image = "python:" + image.PythonVersion + "-slim"
	case m.options.Template == "":
		m.body.Image = "python:" + defaultPython + "-slim"
	}
	return nil
}

func (m *machine) readPorts() error {
	seen := map[int]bool{}
	for _, port := range append([]int{m.spec.Port}, m.spec.Ports...) {
		if port < 1 || port > 65535 {
			return sdk.Errorf(sdk.Invalid, "%d is not a port", port)
		}
		if !seen[port] {
			seen[port] = true
			m.body.Ports = append(m.body.Ports, strconv.Itoa(port)+"/http")
		}
	}
	if n := len(m.body.Ports); n > maxPorts {
		return sdk.Errorf(sdk.Invalid, "RunPod makes at most %d ports of a machine reachable, and this one has %d (one is Seer's own); ask for fewer", maxPorts, n)
	}
	return nil
}

func (m *machine) readEnv(s settings) error {
	m.body.Env = maps.Clone(m.spec.Env)
	if m.body.Env == nil {
		m.body.Env = map[string]string{}
	}
	end, err := json.Marshal(selfEnd(s))
	if err != nil {
		return err
	}
	m.body.Env[sdk.SelfEndVariable] = string(end)
	if n := len(m.body.Env); n > maxVariables {
		return sdk.Errorf(sdk.Invalid, "RunPod allows %d environment variables, and this machine has %d, some of them Seer's own; set fewer", maxVariables, n)
	}
	return nil
}

// selfEnd ends the pod from within, with the key that RunPod gives each pod for itself. A
// key that may not delete the pod may be allowed to terminate or to stop it: what is left
// of a stopped pod costs nothing that counts, and is deleted from outside.
func selfEnd(s settings) sdk.SelfEnd {
	return sdk.SelfEnd{
		Method: "DELETE",
		URL:    s.api + "/v2/pods/{RUNPOD_POD_ID}",
		Headers: map[string]string{
			"Authorization": "Bearer {RUNPOD_API_KEY}", "User-Agent": userAgent, "Content-Type": "application/json",
		},
		Otherwise: []sdk.SelfEndRequest{action(s, "terminate"), action(s, "stop")},
	}
}

func action(s settings, name string) sdk.SelfEndRequest {
	return sdk.SelfEndRequest{Method: "POST", URL: s.api + "/v2/pods/{RUNPOD_POD_ID}/action", Body: `{"action":"` + name + `"}`}
}

// args is the command in one string, which RunPod splits into words as a POSIX shell
// would. In JSON it can replace the image's entry point, too.
func (m *machine) args() (string, error) {
	for _, word := range m.spec.Command {
		if strings.ContainsRune(word, 0) {
			return "", sdk.Errorf(sdk.Invalid, "the machine's command holds a NUL byte")
		}
	}
	if m.options.Entrypoint == replaceEntrypoint {
		text, err := json.Marshal(map[string][]string{"entrypoint": m.spec.Command, "cmd": {}})
		return string(text), err
	}
	return shell.Join(m.spec.Command), nil
}

// placed is the request for the pod where it has been decided to be.
func (m *machine) placed(what choice, v *mountedVolume) podRequest {
	body := m.body
	body.DataCenters = slices.Clone(what.DataCenters)
	if v != nil {
		body.DataCenters = []string{v.DataCenter}
		body.Mounts = &mounts{Network: []networkMount{{v.ID, m.spec.Volumes[0].Path}}}
	}
	if what.VCPUs > 0 {
		body.CPU = &cpuRequest{what.ID, what.VCPUs}
		return body
	}
	count := max(m.spec.GPUCount, 1)
	share := func(whole float64) int { return int(math.Ceil(whole / float64(count))) }
	body.GPU = &gpuRequest{ID: what.ID, Count: count, MinCuda: m.options.Cuda, RAMPerGPU: share(m.spec.MemoryGB), VCPUsPerGPU: share(m.spec.CPU)}
	return body
}
