package fakerunpod

import (
	"slices"
	"strings"
)

// GPU is a type of GPU in the catalogue. Prices are USD per hour for one.
type GPU struct {
	ID        string   // as requests name it: "NVIDIA L4"
	Name      string   // for people
	Pool      string   // of Serverless; empty = none
	MemoryGB  int      //
	Secure    float64  // price; 0 = not in this cloud
	Community float64  // price; 0 = not in this cloud
	MaxCount  int      // largest number in one pod
	Cuda      []string // versions of its hosts
}

// CPU is a flavour of pods without GPU.
type CPU struct {
	ID           string  // "cpu5c"
	Name         string  // for people
	Group        string  //
	RAMPerVCPU   float64 // GB
	PricePerVCPU float64 // USD per hour
}

// DataCenter is a place of the catalogue.
type DataCenter struct {
	ID      string // "EU-RO-1"
	Name    string //
	Region  string // NORTH_AMERICA, EUROPE, …
	Country string // two letters
	Volumes []string
}

func (g GPU) manufacturer() string {
	if maker, _, ok := strings.Cut(g.ID, " "); ok && (maker == "NVIDIA" || maker == "AMD") {
		return maker
	}
	return "UNKNOWN"
}

func (g GPU) price(cloud string) float64 {
	if cloud == "COMMUNITY" {
		return g.Community
	}
	return g.Secure
}

// DefaultGPUs is the catalogue of a cloud whose options name none: the ids are
// RunPod's, the prices of their order.
func DefaultGPUs() []GPU {
	cuda := []string{"12.4", "12.6", "12.8"}
	return []GPU{
		{"NVIDIA A100 80GB PCIe", "A100 PCIe", "AMPERE_80", 80, 1.64, 1.19, 8, cuda},
		{"NVIDIA A100-SXM4-80GB", "A100 SXM", "AMPERE_80", 80, 1.74, 1.39, 8, cuda},
		{"NVIDIA A40", "A40", "AMPERE_48", 48, 0.40, 0, 10, cuda},
		{"NVIDIA B200", "B200", "", 180, 5.98, 0, 8, []string{"12.8"}},
		{"NVIDIA GeForce RTX 3090", "RTX 3090", "AMPERE_24", 24, 0.46, 0.22, 8, cuda},
		{"NVIDIA GeForce RTX 4090", "RTX 4090", "ADA_24", 24, 0.69, 0.34, 8, cuda},
		{"NVIDIA GeForce RTX 5090", "RTX 5090", "", 32, 0.94, 0.69, 8, []string{"12.8"}},
		{"NVIDIA H100 80GB HBM3", "H100 SXM", "ADA_80_PRO", 80, 2.69, 2.39, 8, cuda},
		{"NVIDIA H100 NVL", "H100 NVL", "ADA_80_PRO", 94, 2.79, 2.49, 8, cuda},
		{"NVIDIA H100 PCIe", "H100 PCIe", "ADA_80_PRO", 80, 2.39, 1.99, 8, cuda},
		{"NVIDIA H200", "H200 SXM", "HOPPER_141", 141, 3.59, 0, 8, cuda},
		{"NVIDIA L4", "L4", "ADA_24", 24, 0.43, 0, 8, cuda},
		{"NVIDIA L40", "L40", "ADA_48_PRO", 48, 0.99, 0.69, 8, cuda},
		{"NVIDIA L40S", "L40S", "ADA_48_PRO", 48, 0.86, 0.79, 8, cuda},
		{"NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada", "ADA_48_PRO", 48, 0.77, 0.74, 8, cuda},
		{"NVIDIA RTX A5000", "RTX A5000", "AMPERE_24", 24, 0.27, 0.16, 10, cuda},
		{"NVIDIA RTX A6000", "RTX A6000", "AMPERE_48", 48, 0.49, 0.33, 8, cuda},
		{"AMD Instinct MI300X OAM", "MI300X", "", 192, 2.49, 0, 8, nil},
	}
}

func defaultCPUs() []CPU {
	return []CPU{
		{"cpu3c", "Compute-Optimized", "Gen 3", 2, 0.03},
		{"cpu3g", "General Purpose", "Gen 3", 4, 0.04},
		{"cpu5c", "Compute-Optimized", "Gen 5", 2, 0.035},
		{"cpu5g", "General Purpose", "Gen 5", 4, 0.045},
	}
}

func defaultDataCenters() []DataCenter {
	both := []string{"STANDARD", "HIGH_PERFORMANCE"}
	standard := both[:1]
	return []DataCenter{
		{"US-KS-2", "US Kansas 2", "NORTH_AMERICA", "US", standard},
		{"US-TX-3", "US Texas 3", "NORTH_AMERICA", "US", nil},
		{"US-CA-2", "US California 2", "NORTH_AMERICA", "US", both},
		{"CA-MTL-1", "CA Montreal 1", "NORTH_AMERICA", "CA", standard},
		{"EU-RO-1", "EU Romania 1", "EUROPE", "RO", both},
		{"EU-SE-1", "EU Sweden 1", "EUROPE", "SE", standard},
		{"EUR-IS-1", "EUR Iceland 1", "EUROPE", "IS", standard},
		{"OC-AU-1", "OC Australia 1", "OCEANIA", "AU", nil},
	}
}

// stock is how many of each type are free in each place.
type stock map[place]int

type place struct{ resource, dataCenter string }

// level is a number of free ones in the words of the catalogue, for pods of count.
func level(free, count int) string {
	switch n := free / max(count, 1); {
	case n == 0:
		return "NONE"
	case n <= 4:
		return "LOW"
	case n <= 9:
		return "MEDIUM"
	}
	return "HIGH"
}

// best is the highest level of several places.
func best(levels []string) string {
	order := []string{"NONE", "LOW", "MEDIUM", "HIGH"}
	top := 0
	for _, l := range levels {
		top = max(top, slices.Index(order, l))
	}
	return order[top]
}
