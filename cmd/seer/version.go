package main

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine/protocol"
)

type versionJSON struct {
	Version  string `json:"version"`
	Protocol int    `json:"protocol"`
	Go       string `json:"go"`
	System   string `json:"system"`
}

func newVersion(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Example: "  seer version --json",
		Args: cli.Args(0, 0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			v := versionJSON{a.Version(), protocol.Version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			return a.Print(v, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "seer %s (protocol %d, %s, %s)\n", v.Version, v.Protocol, v.Go, v.System)
				return err
			})
		},
	}
}
