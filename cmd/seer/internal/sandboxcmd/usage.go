package sandboxcmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/inventory"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/engine/sanitize"
)

func newUsage(a app) *cobra.Command {
	return &cobra.Command{
		Use:               "usage ID",
		Short:             "Show the processor time, memory, disks and GPUs in use",
		Long:              "Show what a sandbox uses now: processor time, memory, disks, GPUs and processes.",
		Example:           "  seer usage lab\n  watch seer usage lab",
		Args:              cli.Args(1, 1, "a sandbox"),
		ValidArgsFunction: a.CompleteSandbox,
		RunE: a.WithSandbox(func(cmd *cobra.Command, s *engine.Sandbox, given []string) error {
			defer s.Close()
			u, err := s.Usage(cmd.Context())
			if err != nil {
				return err
			}
			info, err := s.Info(cmd.Context())
			if err != nil {
				return err
			}
			return a.Print(usage{u, info.GPUUse}, func(w io.Writer) error {
				fmt.Fprintf(w, "%-10s %.1f s of %g cores, load %.2f\n", "processor", u.CPUSeconds, u.CPUCount, first(u.Load))
				limit := ""
				if u.MemoryLimit > 0 {
					limit = " of " + term.Size(u.MemoryLimit)
				}
				fmt.Fprintf(w, "%-10s %s%s\n", "memory", term.Size(u.MemoryBytes), limit)
				fmt.Fprintf(w, "%-10s %d\n", "processes", u.Processes)
				for _, d := range u.Disks {
					fmt.Fprintf(w, "%-10s %s free of %s\n", sanitize.Line(d.Path), term.Size(d.Free), term.Size(d.Bytes))
				}
				for _, g := range u.GPUs {
					heat := ""
					if g.Temperature > 0 {
						heat = fmt.Sprintf(", %.0f °C", g.Temperature)
					}
					fmt.Fprintf(w, "gpu %-6d %s, %.0f %%%s, %s of %s\n", g.Index, sanitize.Line(g.Name), g.Utilization, heat, term.Size(g.MemoryBytes), term.Size(g.MemoryTotal))
				}
				if g := info.GPUUse; g != nil {
					fmt.Fprintf(w, "%-10s %s of this sandbox, at most %s; %.0f GPU-seconds\n", "gpu memory", term.Size(g.Memory), term.Size(g.Peak), g.Seconds)
				}
				return nil
			})
		}),
	}
}

// usage is what the sandbox says of itself, and what its computer says of it.
type usage struct {
	protocol.Usage
	GPUUse *inventory.GPUUse `json:"gpu_use,omitempty"`
}

func first(load []float64) float64 {
	if len(load) == 0 {
		return 0
	}
	return load[0]
}
