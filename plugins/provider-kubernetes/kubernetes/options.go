package kubernetes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/plugins/internal/nearest"
	"github.com/seer-engine/seer/sdk"
)

// options are the user's provider_options.
type options struct {
	Context   string
	Namespace string

	Image            string // of machines whose experiment names none
	ImagePullSecrets []string
	NodeSelector     map[string]string
	Tolerations      []toleration
	RuntimeClass     string
	PriorityClass    string
	ServiceAccount   string
	Queue            string // of Kueue
	Labels           map[string]string
	Annotations      map[string]string
	Security         string // empty or restricted

	GPUResource string
	GPULabel    string // of nodes; empty = the first of gpuLabels that a node has
	GPU         string // which GPU it is, where nodes do not tell

	StorageClass string // of volumes that are made
	AccessMode   string

	NetworkProbe []string // more places that the proof of a closed network tries
}

const (
	defaultGPUResource = "nvidia.com/gpu"
	defaultAccessMode  = "ReadWriteOnce"
	restricted         = "restricted"
)

var accessModes = []string{"ReadWriteMany", defaultAccessMode, "ReadWriteOncePod"}

// fields are the options by their names.
func (o *options) fields() map[string]any {
	return map[string]any{
		"context": &o.Context, "namespace": &o.Namespace, "image": &o.Image, "image_pull_secrets": &o.ImagePullSecrets,
		"node_selector": &o.NodeSelector, "tolerations": &o.Tolerations, "runtime_class": &o.RuntimeClass, "priority_class": &o.PriorityClass,
		"service_account": &o.ServiceAccount, "queue": &o.Queue, "labels": &o.Labels, "annotations": &o.Annotations, "security": &o.Security,
		"gpu_resource": &o.GPUResource, "gpu_label": &o.GPULabel, "gpu": &o.GPU, "storage_class": &o.StorageClass, "access_mode": &o.AccessMode,
		"network_probe": &o.NetworkProbe,
	}
}

// form is what the value of an option is, in words.
func form(field any) string {
	switch field.(type) {
	case *string:
		return "a text in quotes"
	case *[]string:
		return "a list of texts"
	case *map[string]string:
		return "a mapping of texts (numbers and true in quotes)"
	}
	return "a list of mappings with key, operator, value, effect and tolerationSeconds, as in a pod"
}

// parseOptions reads provider_options, and reports all mistakes at once.
func parseOptions(raw json.RawMessage) (o options, err error) {
	o = options{GPUResource: defaultGPUResource, AccessMode: defaultAccessMode}
	if len(raw) == 0 || string(raw) == "null" {
		return o, nil
	}
	var values map[string]json.RawMessage
	if json.Unmarshal(raw, &values) != nil {
		return o, sdk.Errorf(sdk.Invalid, "provider_options.kubernetes must be a mapping")
	}
	fields := o.fields()
	known := slices.Sorted(maps.Keys(fields))
	var mistakes []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		field := fields[name]
		if field == nil {
			near := nearest.Of(name, known)
			if near == "" {
				near = "; there are " + strings.Join(known, ", ")
			}
			mistakes = append(mistakes, fmt.Sprintf("there is no %q%s", name, near))
			continue
		}
		d := json.NewDecoder(bytes.NewReader(values[name]))
		d.DisallowUnknownFields()
		if d.Decode(field) != nil {
			mistakes = append(mistakes, fmt.Sprintf("%s must be %s", name, form(field)))
		}
	}
	mistakes = append(mistakes, o.mistakes()...)
	if len(mistakes) > 0 {
		return o, sdk.Errorf(sdk.Invalid, "provider_options.kubernetes: %s", strings.Join(mistakes, "; "))
	}
	return o, nil
}

var (
	resourceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?/[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`)
	labelKey     = regexp.MustCompile(`^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)
	labelValue   = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$`)
	imageForm    = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._:/@-]{0,254}$`)
)

// mistakes are values that no cluster takes.
func (o options) mistakes() (all []string) {
	add := func(bad bool, format string, args ...any) {
		if bad {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	for _, f := range []struct{ name, value string }{
		{"namespace", o.Namespace}, {"runtime_class", o.RuntimeClass}, {"priority_class", o.PriorityClass}, {"service_account", o.ServiceAccount},
		{"queue", o.Queue}, {"storage_class", o.StorageClass},
	} {
		add(f.value != "" && !dnsName.MatchString(f.value), "%s: %q is not a name of Kubernetes: small letters, digits, hyphens and dots", f.name, f.value)
	}
	for _, secret := range o.ImagePullSecrets {
		add(!dnsName.MatchString(secret), "image_pull_secrets: %q is not a name of a secret", secret)
	}
	add(o.Image != "" && !imageForm.MatchString(o.Image), "image: %q is not a name of an image", o.Image)
	add(!resourceName.MatchString(o.GPUResource), "gpu_resource: %q is not a resource such as %s", o.GPUResource, defaultGPUResource)
	add(o.GPULabel != "" && !labelKey.MatchString(o.GPULabel), "gpu_label: %q is not a label", o.GPULabel)
	add(o.Security != "" && o.Security != restricted, "security: there is no %q; it is %s, or left out", o.Security, restricted)
	add(!slices.Contains(accessModes, o.AccessMode), "access_mode: there is no %q%s; there are %s", o.AccessMode, nearest.Of(o.AccessMode, accessModes), strings.Join(accessModes, ", "))
	for _, set := range []struct {
		name   string
		labels map[string]string
	}{{"labels", o.Labels}, {"node_selector", o.NodeSelector}} {
		for _, key := range slices.Sorted(maps.Keys(set.labels)) {
			add(!labelKey.MatchString(key), "%s: %q is not a name of a label", set.name, key)
			add(!labelValue.MatchString(set.labels[key]), "%s: %s: %q is not a value of a label", set.name, key, set.labels[key])
		}
	}
	for _, set := range []map[string]string{o.Labels, o.Annotations} {
		for _, key := range slices.Sorted(maps.Keys(set)) {
			add(strings.HasPrefix(key, ownPrefix) || key == managedBy, "%q is Seer's own", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(o.Annotations)) {
		add(!labelKey.MatchString(key), "annotations: %q is not a name of an annotation", key)
	}
	for _, t := range o.Tolerations {
		add(t.Operator != "" && t.Operator != "Exists" && t.Operator != "Equal", "tolerations: operator is Exists or Equal, not %q", t.Operator)
	}
	for _, place := range o.NetworkProbe {
		colon := strings.LastIndexByte(place, ':')
		n, err := strconv.Atoi(place[colon+1:])
		add(err != nil || colon < 1 || n < 1 || n > 65535, "network_probe: %q is not HOST:PORT", place)
	}
	return all
}

// place finds out which cluster and namespace the options mean.
func (p *Provider) place(o options) (cluster, error) {
	contexts, err := p.API.Contexts(o.Context)
	if err != nil {
		return cluster{}, err
	}
	c := cluster{p.API, o.Context, o.Namespace}
	if c.context == "" {
		c.context = contexts.Current.Name
	}
	if c.context == "" {
		return c, sdk.Errorf(sdk.Invalid, "the provider kubernetes needs a cluster: your kubeconfig has no current context; choose one with kubectl config use-context NAME, or name it in provider_options: {kubernetes: {context: NAME}}")
	}
	for _, known := range []sdk.KubeContext{contexts.Named, contexts.Current} {
		if c.namespace == "" && c.context == known.Name {
			c.namespace = known.Namespace
		}
	}
	if c.namespace == "" {
		return c, sdk.Errorf(sdk.Invalid, "the context %s: which namespace? name it in provider_options: {kubernetes: {context: %s, namespace: NAME}}", c.context, c.context)
	}
	return c, nil
}

// open reads options, and says where they lead.
func (p *Provider) open(raw json.RawMessage) (options, cluster, error) {
	o, err := parseOptions(raw)
	if err != nil {
		return o, cluster{}, err
	}
	c, err := p.place(o)
	return o, c, err
}
