package fakemodal

import (
	"slices"
	"strings"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
)

// gpuNames are what a sandbox may ask for, with the most at once.
var gpuNames = map[string]uint32{
	"T4": 8, "L4": 8, "A10": 4, "A10G": 4, "L40S": 8, "A100": 8, "A100-40GB": 8, "A100-80GB": 8, "RTX-PRO-6000": 8,
	"H100": 8, "H100!": 8, "H200": 8, "B200": 8, "B200+": 8,
}

// defaultRates are dollars an hour: the published ones of 2026, as an example. What
// Modal calls them is not documented.
func defaultRates() map[string]string {
	return map[string]string{
		"T4": "0.59", "L4": "0.80", "A10": "1.10", "L40S": "1.95", "A100-40GB": "2.10", "A100-80GB": "2.50", "RTX-PRO-6000": "3.03",
		"H100": "3.95", "H200": "4.54", "B200": "6.25", "sandbox_cpu": "0.1419", "sandbox_memory": "0.0242",
	}
}

var regions = []string{
	"us", "us-east", "us-east-1", "us-east-2", "us-east4", "us-central", "us-central1", "us-south", "us-west", "us-west-1", "us-west-2",
	"us-ashburn-1", "us-chicago-1", "us-phoenix-1", "us-sanjose-1", "ca", "ca-central-1", "ca-toronto-1", "mx", "sa", "sa-east-1",
	"eu", "eu-west", "eu-west-1", "eu-central-1", "eu-north", "eu-north-1", "eu-south", "eu-frankfurt-1", "europe-west4", "uk", "uk-london-1",
	"eu-west-2", "ap", "ap-northeast", "ap-northeast-1", "ap-northeast-3", "ap-southeast", "ap-southeast-1", "ap-southeast-3", "ap-south",
	"ap-south-1", "ap-melbourne-1", "jp", "au", "me", "me-west1", "af", "in", "kr",
}

var clouds = []string{"", "auto", "aws", "gcp", "oci", "azure"}

func checkGPU(g *pb.GPUConfig) error {
	name := g.GetGpuType()
	if name == "" {
		return nil
	}
	most, ok := gpuNames[strings.ToUpper(name)]
	if !ok {
		return invalid("Invalid GPU type: %s", name)
	}
	if g.GetCount() < 1 || g.GetCount() > most {
		return invalid("GPU count for %s must be between 1 and %d, got %d", name, most, g.GetCount())
	}
	return nil
}

// checkDefinition refuses what Modal refuses.
func checkDefinition(d *pb.Sandbox, v2 bool) error {
	if err := checkGPU(d.GetResources().GetGpuConfig()); err != nil {
		return err
	}
	if v2 && d.GetResources().GetGpuConfig().GetGpuType() != "" {
		return invalid("GPUs are not supported by this backend")
	}
	for _, region := range d.GetSchedulerPlacement().GetRegions() {
		if !slices.Contains(regions, region) {
			return invalid("Invalid region: %s", region)
		}
	}
	if !slices.Contains(clouds, d.GetCloudProviderStr()) {
		return invalid("Invalid cloud provider: %s", d.GetCloudProviderStr())
	}
	if n := d.GetTimeoutSecs(); n < 1 || n > 86_400 {
		return invalid("Sandbox timeout must be between 1 and 86400 seconds, got %d", n)
	}
	if w := d.GetWorkdir(); w != "" && !strings.HasPrefix(w, "/") {
		return invalid("workdir must be an absolute path, got %q", w)
	}
	return checkPorts(d)
}

func checkPorts(d *pb.Sandbox) error {
	seen := map[uint32]bool{}
	for _, p := range d.GetOpenPorts().GetPorts() {
		if p.GetPort() < 1 || p.GetPort() > 65535 {
			return invalid("Invalid port: %d", p.GetPort())
		}
		if seen[p.GetPort()] {
			return invalid("Port %d is given twice", p.GetPort())
		}
		seen[p.GetPort()] = true
	}
	if len(seen) > 0 && d.GetNetworkAccess().GetNetworkAccessType() == pb.NetworkAccess_BLOCKED {
		return invalid("Ports cannot be opened where the network is blocked")
	}
	return nil
}
