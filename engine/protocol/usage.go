package protocol

// Usage is what a machine uses and has. What cannot be known is zero, or not there.
type Usage struct {
	CPUCount    float64     `json:"cpu_count,omitempty"`   // that its processes may use; a quota may be a fraction
	CPUSeconds  float64     `json:"cpu_seconds,omitempty"` // used since it began
	Load        []float64   `json:"load,omitempty"`        // over 1, 5 and 15 minutes, of the kernel
	MemoryBytes int64       `json:"memory_bytes,omitempty"`
	MemoryLimit int64       `json:"memory_limit,omitempty"` // beyond which processes are killed
	MemoryPeak  int64       `json:"memory_peak,omitempty"`
	Processes   int         `json:"processes,omitempty"`
	Disks       []DiskUsage `json:"disks,omitempty"`
	GPUs        []GPUUsage  `json:"gpus,omitempty"`
}

// DiskUsage is the disk under a folder of the machine.
type DiskUsage struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"` // its size
	Free  int64  `json:"free"`
}

// GPUUsage is one GPU.
type GPUUsage struct {
	Index       int     `json:"index"`
	Name        string  `json:"name"`
	Utilization float64 `json:"utilization"`           // percent
	Temperature float64 `json:"temperature,omitempty"` // °C; 0 = not known
	MemoryBytes int64   `json:"memory_bytes"`
	MemoryTotal int64   `json:"memory_total"`
}
