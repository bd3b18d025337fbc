package modal

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/gpu"
)

// priceData is Modal's price list as it was on its date. Modal can be asked for the
// rates of a workspace, too; see [session.priceList].
//
//go:embed prices.json
var priceData []byte

// priceList says what Modal rents and what it costs, in USD.
type priceList struct {
	Date          string  `json:"date"`
	Source        string  `json:"source"`
	CPUCoreHour   float64 `json:"cpu_core_hour"`   // physical core of a sandbox
	MemoryGiBHour float64 `json:"memory_gib_hour"` // of a sandbox
	RegionFactor  float64 `json:"region_factor"`   // upper bound, when regions are asked for
	GPUs          []kind  `json:"gpus"`
}

// kind is a kind of GPU.
type kind struct {
	Name     string  `json:"name"` // Modal's, which is also the canonical one
	MemoryGB float64 `json:"memory_gb"`
	Max      int     `json:"max"`  // in one machine
	Hour     float64 `json:"hour"` // price of one
	Exact    bool    `json:"exact,omitempty"`
	OrBetter bool    `json:"or_better,omitempty"`
}

// choice is a kind of GPU under the name by which Modal is asked for it: "H100!" is
// an H100 and no H200, "B200+" may be a B300.
type choice struct {
	kind
	ID string
}

func builtIn() (priceList, error) {
	var list priceList
	if err := json.Unmarshal(priceData, &list); err != nil {
		return list, sdk.Errorf(sdk.Internal, "prices.json: %v", err)
	}
	return list, nil
}

// names are the canonical names of all GPUs.
func (l priceList) names() []string {
	var out []string
	for _, k := range l.GPUs {
		out = append(out, k.Name)
	}
	return out
}

// choices are what serves a user who asks for a GPU in these words, cheapest first.
func (l priceList) choices(want string) []choice {
	want, better := strings.CutSuffix(strings.TrimSpace(want), "+")
	var out []choice
	for _, k := range l.GPUs {
		switch {
		case !gpu.Match(want, k.Name) || better && !k.OrBetter:
		case better:
			out = append(out, choice{k, k.Name + "+"})
		case k.Exact && gpu.Parse(want).Exact:
			out = append(out, choice{k, k.Name + "!"})
		default: // what is not upgraded is exact without a word
			out = append(out, choice{k, k.Name})
		}
	}
	slices.SortStableFunc(out, func(a, b choice) int { return sign(a.Hour - b.Hour) })
	return out
}

func sign(x float64) int {
	switch {
	case x < 0:
		return -1
	case x > 0:
		return 1
	default:
		return 0
	}
}

// What a sandbox gets, and is billed for, when nothing is asked for.
const (
	defaultCores     = 0.125
	defaultMemoryGiB = 0.125
)

// machine is the price of a whole machine for an hour. More CPU or memory than was
// asked for costs more when it is used.
func (l priceList) machine(gpuHour float64, gpus int, cores, memoryGiB float64, regions []string) float64 {
	sum := gpuHour*float64(gpus) + l.CPUCoreHour*max(cores, defaultCores) + l.MemoryGiBHour*max(memoryGiB, defaultMemoryGiB)
	if len(regions) > 0 {
		sum *= l.RegionFactor
	}
	return sum
}
