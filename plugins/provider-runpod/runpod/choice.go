package runpod

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// choice is what is rented, as the ID of an offer says it: RunPod's id of a GPU, or
// FLAVOUR:VCPUS without one; then, where it is narrowed to places, @ and their ids.
//
//	NVIDIA L4
//	NVIDIA A100-SXM4-80GB@EU-RO-1,EU-SE-1
//	cpu5c:4@US-KS-2
type choice struct {
	ID          string // RunPod's, of the GPU or of the CPU flavour
	VCPUs       int    // 0 = a machine with GPUs
	DataCenters []string
}

var (
	cpuForm        = regexp.MustCompile(`^([A-Za-z0-9_-]+):([0-9]{1,4})$`)
	gpuForm        = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._()/+-]{0,99}$`)
	dataCenterForm = regexp.MustCompile(`^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$`)
)

func (c choice) String() string {
	text := c.ID
	if c.VCPUs > 0 {
		text += ":" + strconv.Itoa(c.VCPUs)
	}
	if len(c.DataCenters) > 0 {
		text += "@" + strings.Join(c.DataCenters, ",")
	}
	return text
}

func parseChoice(offer string) (choice, error) {
	var c choice
	resource, places, narrowed := strings.Cut(offer, "@")
	if narrowed {
		c.DataCenters = strings.Split(places, ",")
	}
	bad := !gpuForm.MatchString(resource)
	c.ID = resource
	if m := cpuForm.FindStringSubmatch(resource); m != nil {
		n, err := strconv.Atoi(m[2])
		bad = err != nil || n == 0
		c.ID, c.VCPUs = m[1], n
	}
	for _, dc := range c.DataCenters {
		bad = bad || !dataCenterForm.MatchString(dc)
	}
	if bad {
		return c, sdk.Errorf(sdk.Invalid, "%q is not an offer of RunPod's; take one that `seer offers` lists", offer)
	}
	return c, nil
}
