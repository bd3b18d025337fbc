package blinding

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/namesearch"
)

// Names are the names of the hidden models among some.
func Names(models []machine.Model) namesearch.Names {
	var spec namesearch.Spec
	for _, m := range models {
		if m.Hidden {
			spec.Names = append(spec.Names, m.Name)
			if base := filepath.Base(m.Local); m.Source == experiment.SourceFolder && strings.HasPrefix(m.Name, ".") {
				spec.Names = append(spec.Names, base) // of a folder named as . or ..
			}
			if m.Local != "" { // its files are here
				spec.Stay = append(spec.Stay, Architecture(m.Local)...)
			}
		}
	}
	if spec.Names == nil {
		return namesearch.Names{}
	}
	return namesearch.Compile(spec)
}

// HiddenError says that the name of a hidden model can be found where an agent looks, or
// would be there.
type HiddenError struct {
	In     string // what has the places: the sandbox, or what the agent is given
	Places []string
}

func (e *HiddenError) Error() string {
	return "the name of a hidden model can be found in " + e.In + ": " + SomeOf(e.Places) + "; take it out there, or set hidden: false"
}

// Found is the error of places where a name is; nil where there are none.
func Found(in string, places []string) error {
	if len(places) == 0 {
		return nil
	}
	return &errdefs.Error{Kind: errdefs.KindConfig, Err: &HiddenError{In: in, Places: places}}
}

const inSandbox = "the sandbox"

// SomeOf lists the first of many words.
func SomeOf(words []string) string {
	const most = 12
	if len(words) <= most {
		return strings.Join(words, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), len(words)-most)
}

// CheckBrought looks at what is brought into a running sandbox: its place there, and its
// content or, where that is nil, the file or folder local. It is an error of
// [errdefs.KindConfig] that has a [HiddenError] when a name is found.
func CheckBrought(ctx context.Context, names namesearch.Names, place, local string, content []byte) error {
	if names.Empty() {
		return nil
	}
	var answer namesearch.Answer
	if _, found := names.Find(ctx, []byte(place)); found {
		answer.Places = append(answer.Places, "the name "+place)
	}
	if local != "" {
		answer.Add(names.Folder(ctx, local))
	} else if form, found := names.Find(ctx, content); found {
		answer.Places = append(answer.Places, namesearch.Place("the content of "+place, form))
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if err := Found(inSandbox, answer.Places); err != nil {
		return err
	}
	if len(answer.Unsearched) > 0 {
		err := fmt.Errorf("look for the names of hidden models: %s; unpack it, and copy what is in it", SomeOf(answer.Unsearched))
		return &errdefs.Error{Kind: errdefs.KindUnsupported, Err: err}
	}
	return nil
}
