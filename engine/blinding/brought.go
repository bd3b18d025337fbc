package blinding

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"

	"github.com/seer-engine/seer/engine/namesearch"
)

// CheckReader looks at what a reader brings to a place in a running sandbox, and calls write
// with the same content; see [CheckBrought].
func CheckReader(ctx context.Context, names namesearch.Names, place string, r io.Reader, write func(io.Reader) error) error {
	if names.Empty() {
		return write(r)
	}
	f, err := os.CreateTemp("", "seer-*")
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(f.Close(), os.Remove(f.Name())) }()
	if _, err := io.Copy(f, r); err != nil {
		return err
	}
	if err := CheckBrought(ctx, names, place, f.Name(), nil); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return write(f)
}

// CheckInterface looks at an interface file before a sandbox serves it under a name; see
// [CheckBrought]. A file that cannot be read is for the loading to report.
func CheckInterface(ctx context.Context, names namesearch.Names, name, file string) error {
	code, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return CheckBrought(ctx, names, name, "", bytes.Join([][]byte{code, []byte(name)}, []byte("\n")))
}

// AgentView is what an agent finds outside of its sandbox.
type AgentView struct {
	Folder string            // on this computer
	Texts  map[string]string // what else it reads, by what that is
}

// Search looks for names in what an agent is given. It is an error of [errdefs.KindConfig]
// that has a [HiddenError] when one is found. unsearched lists what could not be searched
// whole, and why.
func (v AgentView) Search(ctx context.Context, names namesearch.Names) (unsearched []string, err error) {
	if names.Empty() {
		return nil, nil
	}
	answer := names.Below(ctx, v.Folder)
	answer.Places = append(answer.Places, FindIn(ctx, names, v.Texts)...)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return answer.Unsearched, Found("what the agent is given", answer.Places)
}
