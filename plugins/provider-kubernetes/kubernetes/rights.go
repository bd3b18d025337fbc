package kubernetes

import (
	"context"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// right is a line of kubernetes-rbac.yaml.
type right struct {
	group, resource string // resource/subresource
	verbs           []string
	everywhere      bool   // of the cluster role
	without         string // what does not work without it; empty = no machine can be made
}

// rights are those of kubernetes-rbac.yaml; a test compares them.
var rights = []right{
	{resource: "pods", verbs: []string{"get", "list", "create", "patch", "delete"}},
	{resource: "pods/exec", verbs: []string{"get", "create"}},
	{group: "networking.k8s.io", resource: "networkpolicies", verbs: []string{"list", "create", "patch", "delete"}, without: "network: none"},
	{resource: "persistentvolumeclaims", verbs: []string{"get", "list", "create", "delete"}, without: "volumes"},
	{resource: "events", verbs: []string{"list"}, without: "the reasons of slow starts"},
	{resource: "resourcequotas", verbs: []string{"list"}, without: "a look at the quota before a start"},
	{resource: "serviceaccounts", verbs: []string{"get"}, without: "the check of service_account"},
	{group: "kueue.x-k8s.io", resource: "localqueues", verbs: []string{"get"}, without: "the length of the queue"},
	{group: "kueue.x-k8s.io", resource: "workloads", verbs: []string{"list"}, without: "the reason why a queue does not admit a pod"},
	{resource: "namespaces", verbs: []string{"get"}, without: "the check of the namespace"},
	{resource: "nodes", verbs: []string{"list"}, everywhere: true, without: "offers by the GPUs of the nodes; name yours in provider_options.kubernetes.gpu"},
	{resource: "pods", verbs: []string{"list"}, everywhere: true, without: "a look at what is free now"},
	{group: "node.k8s.io", resource: "runtimeclasses", verbs: []string{"get"}, everywhere: true, without: "the check of runtime_class"},
	{group: "scheduling.k8s.io", resource: "priorityclasses", verbs: []string{"get"}, everywhere: true, without: "the check of priority_class"},
	{group: "storage.k8s.io", resource: "storageclasses", verbs: []string{"get"}, everywhere: true, without: "the check of storage_class"},
}

// concerns reports whether a query and its options use the right.
func (r right) concerns(q sdk.CheckQuery, o options) bool {
	switch r.resource {
	case "networkpolicies":
		return q.Network == closedNetwork
	case "localqueues", "workloads":
		return o.Queue != ""
	case "serviceaccounts":
		return o.ServiceAccount != ""
	case "runtimeclasses":
		return o.RuntimeClass != ""
	case "priorityclasses":
		return o.PriorityClass != ""
	case "storageclasses":
		return o.StorageClass != ""
	}
	return true
}

type accessReview struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		Attributes map[string]string `json:"resourceAttributes"`
	} `json:"spec"`
	Status struct {
		Allowed bool   `json:"allowed"`
		Reason  string `json:"reason,omitempty"`
	} `json:"status"`
}

// checkRight asks the cluster whether the user has one right.
func (c cluster) checkRight(ctx context.Context, r right, verb string) sdk.Finding {
	where := " in " + c.namespace
	if r.everywhere {
		where = " of the cluster"
	}
	f := sdk.Finding{Name: "right to " + verb + " " + r.resource + where}
	resource, sub, _ := strings.Cut(r.resource, "/")
	review := accessReview{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"}
	review.Spec.Attributes = map[string]string{"verb": verb, "group": r.group, "resource": resource, "subresource": sub}
	if !r.everywhere {
		review.Spec.Attributes["namespace"] = c.namespace
	}
	_, err := c.do(ctx, call{doing: "asking for the " + f.Name, method: "POST", path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body: review}, &review)
	switch {
	case err != nil:
		return found(f.Name, sdk.FindingUnknown, err.Error(), "")
	case review.Status.Allowed:
		f.State = sdk.FindingOK
	case r.without == "" || r.resource == "networkpolicies": // which is asked for
		return found(f.Name, sdk.FindingFailed, "you do not have it", applyRoles)
	default:
		return found(f.Name, sdk.FindingWarning, "you do not have it; without it there is no: "+r.without, applyRoles)
	}
	return f
}

const applyRoles = "have an administrator apply kubernetes-rbac.yaml of Seer's documentation"
