package host

import (
	"context"

	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/engine/plugin/host/egress"
)

// Audit is one request of a plugin that was made or refused. It holds no credential.
type Audit = egress.Audit

// SSH runs commands on hosts with the user's OpenSSH.
type SSH = egress.SSH

// SSHResult is what a command on a host has said, and how it has ended.
type SSHResult = egress.SSHResult

// SSHHosts remembers on which hosts plugins have run something.
type SSHHosts = egress.SSHHosts

// Kube reaches Kubernetes clusters by the user's kubeconfig.
type Kube = egress.Kube

// KubeResult is what a command in a pod has said, and how it has ended.
type KubeResult = egress.KubeResult

// KubeContexts remembers in which namespaces of which contexts plugins have made something.
type KubeContexts = egress.KubeContexts

// SecretStatus says whether a credential is there, and never what it is.
type SecretStatus = egress.SecretStatus

// Secrets tells which of the credentials that a plugin uses are there, and from
// where. It runs nothing and asks nobody whether they are good.
func (h *Host) Secrets(_ context.Context, p Plugin) []SecretStatus {
	return h.gateway(p, Grant{Lines: p.Access}).Secrets()
}

// Settings are the values of a plugin's settings: from a variable, the profile or the
// default. The error is of a profile that cannot be read.
func (h *Host) Settings(_ context.Context, p Plugin) (map[string]string, error) {
	return h.gateway(p, Grant{Lines: p.Access}).Settings()
}

func (h *Host) gateway(p Plugin, g Grant) *egress.Gateway {
	o := h.outside
	o.Asked, o.Manifest, o.Destinations = p.Manifest, access.Limit(p.Manifest, g.Lines), g.Destinations
	return egress.New(o)
}
