package kubernetes

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// What Seer writes on its objects.
const (
	ownPrefix = "seer.dev/"
	managedBy = "app.kubernetes.io/managed-by"
	manager   = "seer"

	labelKeyOf   = ownPrefix + "key"
	labelOwner   = ownPrefix + "owner"
	labelVolume  = ownPrefix + "volume"
	labelQueue   = "kueue.x-k8s.io/queue-name"
	labelKueue   = "kueue.x-k8s.io/managed" // Kueue's own, on pods that it manages
	notedEnd     = ownPrefix + "end"        // unix time
	notedName    = ownPrefix + "name"       // for people
	notedLabels  = ownPrefix + "labels"     // of the spec, JSON
	notedNetwork = ownPrefix + "network"
	notedProbe   = ownPrefix + "network-probe"   // more places to try
	notedControl = ownPrefix + "network-control" // what was reached before the policy was made
	notedProof   = ownPrefix + "network-proof"
)

const (
	containerName  = "seer"
	defaultPython  = "3.12"
	closedNetwork  = "none"
	graceSeconds   = 10   // after which a pod that is deleted is killed
	restrictedUser = 1000 // who runs a pod of security: restricted
)

// runtimeFolder is where Seer's program on the machine is kept; see [sdk.SSHProgram].
const runtimeFolder = "/var/lib/seer"

// ownFolders are those of a machine that a user who is not root cannot make in an image.
var ownFolders = []string{"/datasets", "/home/seer", "/models", "/seer", "/workspace"}

var (
	keyForm     = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?$`)
	pythonForm  = regexp.MustCompile(`^3\.[0-9]{1,2}(\.[0-9]{1,2})?$`)
	volumeForm  = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,53}[a-z0-9])?$`)
	variableKey = regexp.MustCompile(`^[-._a-zA-Z][-._a-zA-Z0-9]*$`)
)

// refuse names what no pod can have. To leave it out silently would be less than the user has
// asked for.
func refuse(s sdk.MachineSpec) error {
	switch i := s.Image; {
	case !keyForm.MatchString(s.Key) || !keyForm.MatchString(s.Owner):
		return sdk.Errorf(sdk.Invalid, "%q of %q is no key of a machine", s.Key, s.Owner)
	case len(s.Command) == 0:
		return sdk.Errorf(sdk.Invalid, "the machine has no command")
	case s.GPUShare != nil:
		return sdk.Errorf(sdk.Unsupported, "the provider kubernetes gives whole GPUs; remove sandbox.gpu_share, or name the resource of a share in provider_options.kubernetes.gpu_resource")
	case s.Isolation != "" && s.Isolation != "auto":
		return sdk.Errorf(sdk.Unsupported, "the isolation of a machine is that of its pod; leave sandbox.isolation out, and choose with provider_options.kubernetes.runtime_class")
	case s.NestedSandbox:
		return sdk.Errorf(sdk.Unsupported, "a pod makes no sandboxes of its own; remove sandbox.nested_sandbox")
	case s.Network == "hosts" || len(s.NetworkHosts) > 0:
		return sdk.Errorf(sdk.Unsupported, "a NetworkPolicy names addresses and not hosts, so that a pod cannot be limited to a list of hosts; set sandbox.network to none or open")
	case s.Network != "" && s.Network != "open" && s.Network != closedNetwork:
		return sdk.Errorf(sdk.Unsupported, "a pod has no network: %s; set sandbox.network to none or open", s.Network)
	case len(s.Mounts) > 0:
		return sdk.Errorf(sdk.Unsupported, "a pod cannot have %s, which is on this computer", s.Mounts[0].Source)
	case i != nil && i.Snapshot != "":
		return sdk.Errorf(sdk.Unsupported, "the provider kubernetes keeps no snapshots; start from an image")
	case i != nil && len(i.SystemPackages)+len(i.PythonPackages)+len(i.Commands) > 0:
		return sdk.Errorf(sdk.Unsupported, "the provider kubernetes builds no images; the packages are installed on the machine")
	}
	return refuseValues(s)
}

func refuseValues(s sdk.MachineSpec) error {
	for _, v := range s.Volumes {
		if !volumeForm.MatchString(v.Name) || !path.IsAbs(v.Path) {
			return sdk.Errorf(sdk.Invalid, "sandbox.volumes: %q at %q: the name of a PersistentVolumeClaim has small letters, digits and hyphens, and its path is absolute", v.Name, v.Path)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if !variableKey.MatchString(name) {
			return sdk.Errorf(sdk.Invalid, "the variable %q cannot be set in a pod", name)
		}
	}
	return nil
}

// image is what the machine starts from.
func image(s sdk.MachineSpec, o options) (string, error) {
	i := s.Image
	if i == nil {
		i = &sdk.Image{}
	}
	switch {
	case i.Base != "":
		if !imageForm.MatchString(i.Base) {
			return "", sdk.Errorf(sdk.Invalid, "sandbox.image.base: %q is not a name of an image", i.Base)
		}
		return i.Base, nil
	case i.PythonVersion != "" && o.Image != "":
		return "", sdk.Errorf(sdk.Invalid, "provider_options.kubernetes.image has the Python that it has; remove it, or sandbox.python_version (%s)", i.PythonVersion)
	case i.PythonVersion != "":
		if !pythonForm.MatchString(i.PythonVersion) {
			return "", sdk.Errorf(sdk.Invalid, "%q is not a version of Python such as %s", i.PythonVersion, defaultPython)
		}
		return "python:" + i.PythonVersion + "-slim", nil
	case o.Image != "":
		return o.Image, nil
	}
	return "python:" + defaultPython + "-slim", nil
}

// render is the pod of a machine, on nodes of the choice.
func render(s sdk.MachineSpec, o options, namespace string, on choice) (pod, error) {
	from, err := image(s, o)
	if err != nil {
		return pod{}, err
	}
	no, grace := false, int64(graceSeconds)
	p := pod{
		APIVersion: "v1", Kind: "Pod",
		Metadata: meta{Name: podName(s.Key), Namespace: namespace, Labels: labels(s, o), Annotations: annotations(s, o)},
		Spec: podSpec{
			RestartPolicy: "Never", ActiveDeadlineSeconds: max(1, s.TimeoutSeconds), TerminationGracePeriodSeconds: &grace,
			AutomountServiceAccountToken: &no, EnableServiceLinks: &no,
			ServiceAccountName: o.ServiceAccount, RuntimeClassName: o.RuntimeClass, PriorityClassName: o.PriorityClass,
			NodeSelector: maps.Clone(o.NodeSelector), Tolerations: slices.Clone(o.Tolerations),
		},
	}
	for _, secret := range o.ImagePullSecrets {
		p.Spec.ImagePullSecrets = append(p.Spec.ImagePullSecrets, named{secret})
	}
	c := container{
		Name: containerName, Image: from, Command: s.Command, Resources: resourcesOf(s, o), TerminationMessagePolicy: "FallbackToLogsOnError",
		SecurityContext: &securityContext{AllowPrivilegeEscalation: &no},
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		c.Env = append(c.Env, variable{name, strings.ReplaceAll(s.Env[name], "$(", "$$(")}) // $(X) is a variable there
	}
	c.Command = escaped(s.Command)
	for _, port := range append([]int{s.Port}, s.Ports...) {
		if port > 0 && !slices.Contains(c.Ports, containerPort{port}) {
			c.Ports = append(c.Ports, containerPort{port})
		}
	}
	p.place(on)
	if s.GPU != "" {
		p.Spec.Tolerations = append(p.Spec.Tolerations, toleration{Key: o.GPUResource, Operator: "Exists"}) // nodes with GPUs may refuse others
	}
	p.secure(&c, o)
	p.mount(&c, s, o)
	p.Spec.Containers = []container{c}
	return p, nil
}

// place limits the pod to nodes of the choice. Nodes that do not tell their GPU cannot be selected:
// those that tell another one are left out.
func (p *pod) place(on choice) {
	if on.product != "" {
		if p.Spec.NodeSelector == nil {
			p.Spec.NodeSelector = map[string]string{}
		}
		p.Spec.NodeSelector[on.label] = on.product
		return
	}
	var others []labelRequirement
	for _, label := range slices.Sorted(maps.Keys(on.others)) {
		others = append(others, labelRequirement{Key: label, Operator: "NotIn", Values: on.others[label]})
	}
	if len(others) > 0 {
		required := &nodeSelector{NodeSelectorTerms: []nodeSelectorTerm{{MatchExpressions: others}}}
		p.Spec.Affinity = &affinity{NodeAffinity: nodeAffinity{Required: required}}
	}
}

// escaped are arguments in which $(X) stays as it is.
func escaped(argv []string) []string {
	out := make([]string, len(argv))
	for i, a := range argv {
		out[i] = strings.ReplaceAll(a, "$(", "$$(")
	}
	return out
}

func labels(s sdk.MachineSpec, o options) map[string]string {
	all := map[string]string{}
	maps.Copy(all, o.Labels)
	if o.Queue != "" {
		all[labelQueue] = o.Queue
	}
	all[managedBy], all[labelKeyOf], all[labelOwner] = manager, s.Key, s.Owner
	return all
}

func annotations(s sdk.MachineSpec, o options) map[string]string {
	all := map[string]string{}
	maps.Copy(all, o.Annotations)
	if s.EndUnix > 0 {
		all[notedEnd] = strconv.FormatInt(s.EndUnix, 10)
	}
	if s.Name != "" {
		all[notedName] = s.Name
	}
	if len(s.Labels) > 0 {
		if text, err := json.Marshal(s.Labels); err == nil {
			all[notedLabels] = string(text)
		}
	}
	if s.Network == closedNetwork {
		all[notedNetwork] = closedNetwork
		if len(o.NetworkProbe) > 0 {
			all[notedProbe] = strings.Join(o.NetworkProbe, " ")
		}
	}
	return all
}

// resourcesOf are both reserved and the most that the pod may use.
func resourcesOf(s sdk.MachineSpec, o options) resources {
	all := map[string]string{}
	if s.CPU > 0 {
		all["cpu"] = cores(s.CPU)
	}
	if s.MemoryGB > 0 {
		all["memory"] = mebibytes(s.MemoryGB)
	}
	if s.DiskGB > 0 {
		all["ephemeral-storage"] = strconv.Itoa(s.DiskGB) + "G"
	}
	if s.GPU != "" {
		all[o.GPUResource] = strconv.Itoa(max(1, s.GPUCount))
	}
	if len(all) == 0 {
		return resources{}
	}
	return resources{Requests: all, Limits: all}
}

// secure sets what Pod Security asks for.
func (p *pod) secure(c *container, o options) {
	p.Spec.SecurityContext = &securityContext{SeccompProfile: &seccompProfile{"RuntimeDefault"}}
	if o.Security != restricted {
		return
	}
	yes, user := true, int64(restrictedUser)
	all := p.Spec.SecurityContext
	all.RunAsNonRoot, all.RunAsUser, all.RunAsGroup, all.FSGroup, all.FSGroupChangePolicy = &yes, &user, &user, &user, "OnRootMismatch"
	c.SecurityContext.Capabilities = &capabilities{Drop: []string{"ALL"}}
	if !slices.ContainsFunc(c.Env, func(v variable) bool { return v.Name == "HOME" }) { // the user is not in the image
		c.Env = append(c.Env, variable{"HOME", "/home/seer"})
	}
}

// mount adds the folders of the machine.
func (p *pod) mount(c *container, s sdk.MachineSpec, o options) {
	add := func(name, at string, v volume) {
		v.Name = name
		if !slices.ContainsFunc(p.Spec.Volumes, func(have volume) bool { return have.Name == name }) {
			p.Spec.Volumes = append(p.Spec.Volumes, v)
		}
		c.VolumeMounts = append(c.VolumeMounts, volumeMount{Name: name, MountPath: at})
	}
	add("runtime", runtimeFolder, volume{EmptyDir: &emptyDir{}})
	add("shm", "/dev/shm", volume{EmptyDir: &emptyDir{Medium: "Memory"}}) // 64 MB otherwise, too little for torch
	for _, v := range s.Volumes {
		// Two machines may have one claim, one of them only to read: that is of the mount.
		add("volume-"+v.Name, path.Clean(v.Path), volume{PersistentVolumeClaim: &claimVolume{ClaimName: v.Name}})
		c.VolumeMounts[len(c.VolumeMounts)-1].ReadOnly = v.ReadOnly
	}
	if o.Security != restricted {
		return
	}
	folders := slices.Concat(ownFolders, s.Folders)
	slices.Sort(folders)
	for i, folder := range slices.Compact(folders) {
		taken := slices.ContainsFunc(c.VolumeMounts, func(m volumeMount) bool { return m.MountPath == folder })
		if path.IsAbs(folder) && !taken {
			add(fmt.Sprintf("folder-%d", i), folder, volume{EmptyDir: &emptyDir{}})
		}
	}
}

// container is that of the machine.
func (s podStatus) container() containerState {
	for _, c := range s.ContainerStatuses {
		if c.Name == containerName {
			return c.State
		}
	}
	return containerState{}
}

func (s podStatus) condition(kind string) condition {
	for _, c := range s.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return condition{}
}

// container is the container of the machine; the zero one of a pod that is not Seer's.
func (s podSpec) container() container {
	for _, c := range s.Containers {
		if c.Name == containerName {
			return c
		}
	}
	return container{}
}

// ports are those of the machine, the runtime's first.
func (p pod) ports() (all []int) {
	for _, port := range p.Spec.container().Ports {
		all = append(all, port.ContainerPort)
	}
	return all
}

// ours reports whether the pod is the machine of this key and owner.
func (p pod) ours(key, owner string) bool {
	l := p.Metadata.Labels
	return l[managedBy] == manager && l[labelKeyOf] == key && l[labelOwner] == owner
}
