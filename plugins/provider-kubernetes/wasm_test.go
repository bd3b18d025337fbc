package main_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/internal/testplugin"
	"github.com/seer-engine/seer/internal/testprovider"
	"github.com/seer-engine/seer/plugins/provider-kubernetes/kubernetes"
	"github.com/seer-engine/seer/sdk"
)

func TestMain(m *testing.M) { testplugin.Main(m, "provider-kubernetes") }

// lab is a cluster with one pod.
type lab struct{ host.Kube }

func (lab) Do(_ context.Context, contextName string, r sdk.KubeRequest, _ io.Reader) (*http.Response, error) {
	answer := `{"items":[{"metadata":{"name":"seer-a"},"spec":{"nodeName":"n1","containers":[{"name":"seer","ports":[{"containerPort":8717}]}]},
		"status":{"phase":"Running","containerStatuses":[{"name":"seer","state":{"running":{}}}]}}]}`
	if contextName != "lab/a" || !strings.HasSuffix(r.Path, "/agents/pods") {
		return nil, sdk.Errorf(sdk.Unavailable, "asked was %s %s", contextName, r.Path)
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer))}, nil
}

func (lab) Context(_ context.Context, name string) (sdk.KubeContext, error) {
	return sdk.KubeContext{Name: "lab/a", Namespace: "agents"}, nil
}

func TestPlugin(t *testing.T) {
	h, p := testprovider.Open(t, "kubernetes", nil, host.Options{Kube: lab{}})
	testprovider.WantVersion(t, h, kubernetes.Version)
	info, err := p.Describe(t.Context())
	if err != nil || info.Name != "kubernetes" || !info.Has(sdk.FeatureRoutes) {
		t.Errorf("%+v, %v", info, err)
	}
	const handle = "agents/seer-a@lab/a"
	seen, err := p.Observe(t.Context(), []string{handle})
	if err != nil || len(seen) != 1 || seen[0].State != sdk.Running {
		t.Errorf("%+v, %v", seen, err)
	}
	route, err := p.(sdk.Router).Route(t.Context(), handle, 8717)
	if err != nil || route.Kube == nil || route.Kube.Context != "lab/a" || route.Kube.Target != "tcp:8717" {
		t.Errorf("%+v, %v", route.Kube, err)
	}
	if _, ok := p.(sdk.Checker); !ok {
		t.Error("the plugin does not check")
	}
}

func TestConformance(t *testing.T) { testplugin.Conformance(t, "provider-kubernetes") }
