package main_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/internal/testplugin"
	"github.com/seer-engine/seer/internal/testprovider"
	"github.com/seer-engine/seer/plugins/provider-slurm/slurm"
	"github.com/seer-engine/seer/sdk"
)

func TestMain(m *testing.M) { testplugin.Main(m, "provider-slurm") }

// login is a login node whose cluster has one job.
type login struct{}

func (login) Run(_ context.Context, name string, argv []string, stdin io.Reader) (host.SSHResult, error) {
	if name != "me@login" {
		return host.SSHResult{}, sdk.Errorf(sdk.NotFound, "there is no host %s", name)
	}
	said := ""
	if strings.Contains(argv[2], "squeue") && strings.Contains(argv[2], "now|") {
		said = "job|17|RUNNING|None|x|x|gpu1|seer-a\n" + `state|17|{"state":"running","endpoints":[{"port":8717,"url":"unix:/tmp/s"}]}` + "\n"
	}
	return host.SSHResult{Stdout: []byte(said)}, nil
}

func TestPlugin(t *testing.T) {
	h, p := testprovider.Open(t, "slurm", map[string]string{"SEER_SLURM_HOST": "me@login"}, host.Options{SSH: login{}})
	testprovider.WantVersion(t, h, slurm.Version)
	info, err := p.Describe(t.Context())
	if err != nil || info.Name != "slurm" || !info.Has(sdk.FeatureRoutes) {
		t.Errorf("%+v, %v", info, err)
	}
	seen, err := p.Observe(t.Context(), []string{"me@login/17/seer-a"})
	if err != nil || len(seen) != 1 || seen[0].State != sdk.Running {
		t.Errorf("%+v, %v", seen, err)
	}
	route, err := p.(sdk.Router).Route(t.Context(), "me@login/17/seer-a", 8717)
	if err != nil || route.SSH == nil || route.SSH.Host != "me@login" || route.SSH.Target != "unix:/tmp/s" {
		t.Errorf("%+v, %v", route.SSH, err)
	}
}

func TestConformance(t *testing.T) { testplugin.Conformance(t, "provider-slurm") }
