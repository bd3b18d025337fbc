package pkginstall

import (
	"context"
	"errors"
	"fmt"
	"strings"

	_ "embed"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

// Repo is a git repository to be cloned.
type Repo struct {
	Name    string            // the folder in /workspace
	URL     string            // that the clone remembers
	From    string            // where it is fetched from; empty = URL
	Ref     string            // branch, tag or commit, as the user wrote it; empty = the default branch
	Commit  string            // what that is
	Install string            // shell command, run in the clone; empty = none
	Env     map[string]string // how git gets access; not kept, and not given to Install

	// Explain makes what git has said readable; nil = its last line.
	Explain func(said string) string
}

//go:embed clone.sh
var cloneScript string

func (i *installer) hasGit(ctx context.Context) (bool, error) {
	p, err := i.runtime.Processes().Run(ctx, protocol.ProcessSpec{Argv: []string{"sh", "-c", "command -v git"}, Name: "looking for git"}, nil, nil, nil)
	return p.ExitCode == 0, err
}

// clone brings one repository. Nothing of it runs.
func (i *installer) clone(ctx context.Context, s Spec, r Repo) error {
	from := r.From
	if from == "" {
		from = r.URL
	}
	what := "cloning " + r.URL
	_, err := i.run(ctx, what, []string{"sh", "-c", cloneScript, "sh"}, []string{r.Name, from, r.URL, r.Ref, r.Commit}, merged(s.Env, r.Env))
	var failed *failure
	if errors.As(err, &failed) && r.Explain != nil {
		err = sdk.Errorf(sdk.Invalid, "%s", r.Explain(strings.Join(failed.out.tail, "\n")))
	}
	return err
}

// install runs the installation of a repository with the environment of the packages.
func (i *installer) install(ctx context.Context, s Spec, r Repo, env map[string]string) error {
	if r.Install == "" {
		return nil
	}
	what := fmt.Sprintf("the install command of %s (%s)", r.Name, r.Install)
	out := merged(s.pipEnv(), env)
	_, err := i.run(ctx, what, []string{"sh", "-c", `cd "$1" && eval "$2"`, "sh"}, []string{r.Name, r.Install}, out)
	var failed *failure
	if errors.As(err, &failed) && len(failed.out.errors) == 0 {
		return sdk.Errorf(sdk.Invalid, "%s failed with exit code %d: %s", what, failed.code, strings.Join(failed.out.tail, "\n"))
	}
	return err
}
