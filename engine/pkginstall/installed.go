package pkginstall

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/protocol"
)

//go:embed installed.py
var installedProgram string

const (
	mostPackages = 5000
	mostList     = 4 << 20 // bytes
	mostWord     = 200     // bytes of a name or version
)

// Installed lists what the Python of a machine's services sees, and the packages of its system.
// The answer comes from code in the sandbox: it is bounded, not sanitized and no proof.
func Installed(ctx context.Context, runtime *client.Client) (event.RunPackages, error) {
	list, err := installed(ctx, runtime)
	if err != nil {
		err = fmt.Errorf("list the packages of the sandbox: %w", err)
	}
	return list, err
}

func installed(ctx context.Context, runtime *client.Client) (list event.RunPackages, err error) {
	h, err := runtime.Health(ctx)
	if err != nil {
		return list, err
	}
	var out, said bounded
	spec := protocol.ProcessSpec{Argv: []string{h.Python, "-I", "-c", installedProgram}, Name: "listing packages"}
	p, err := runtime.Processes().Run(ctx, spec, nil, &out, &said)
	switch {
	case err != nil:
		return list, err
	case p.ExitCode != 0:
		return list, fmt.Errorf("its Python ended with exit code %d: %.500s", p.ExitCode, said.Bytes())
	}
	if err := json.Unmarshal(out.Bytes(), &list); err != nil {
		return list, err
	}
	if len(list.Packages) > mostPackages {
		return list, fmt.Errorf("there are %d, and at most %d can be listed", len(list.Packages), mostPackages)
	}
	for _, p := range list.Packages {
		if max(len(p.Name), len(p.Version), len(p.SHA256), len(list.Python)) > mostWord {
			return list, fmt.Errorf("the name or version of %.50q is longer than %d bytes", p.Name, mostWord)
		}
	}
	return list, nil
}

// bounded keeps the beginning of what a process prints.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if room := mostList - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
