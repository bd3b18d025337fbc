package registry

import (
	"slices"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// sshHosts remembers on which hosts plugins have run something.
type sshHosts struct{ used }

// Used implements [host.SSHHosts].
func (h sshHosts) Used(plugin, host string) error { return h.note(plugin, host) }

// Of implements [host.SSHHosts].
func (h sshHosts) Of(plugin string) ([]string, error) { return h.of(plugin) }

// kubeContexts remembers in which namespaces of which contexts plugins have made something, as
// NAMESPACE@CONTEXT.
type kubeContexts struct{ used }

// Used implements [host.KubeContexts].
func (k kubeContexts) Used(plugin string, c sdk.KubeContext) error {
	return k.note(plugin, c.Namespace+"@"+c.Name)
}

// Unused implements [host.KubeContexts].
func (k kubeContexts) Unused(plugin string, c sdk.KubeContext) error {
	return k.forget(plugin, c.Namespace+"@"+c.Name)
}

// Of implements [host.KubeContexts].
func (k kubeContexts) Of(plugin string) ([]sdk.KubeContext, error) {
	places, err := k.of(plugin)
	if err != nil {
		return nil, err
	}
	var out []sdk.KubeContext
	for _, place := range places {
		namespace, name, _ := strings.Cut(place, "@") // of a namespace, which has none
		out = append(out, sdk.KubeContext{Name: name, Namespace: namespace})
	}
	slices.SortFunc(out, func(a, b sdk.KubeContext) int {
		return strings.Compare(a.Name+"\x00"+a.Namespace, b.Name+"\x00"+b.Namespace)
	})
	return out, nil
}
