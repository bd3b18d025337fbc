//go:build tools

// Package programs names the programs of Kubernetes that e2e/kubernetes/build builds. The module
// is apart from Seer's own: Kubernetes replaces 33 modules by those of its release.
package programs

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubectl"
	_ "k8s.io/kubernetes/cmd/kubelet"
)
