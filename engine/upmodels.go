package engine

import (
	"errors"
	"fmt"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/modelload"
)

// modelField is where the experiment names one of its weights: a base model that is not
// listed itself is named by its adapter.
func (u *up) modelField(i int) string {
	models := u.exp.Sandbox.Models
	if i < len(models) {
		return fmt.Sprintf("sandbox.models.%d", i)
	}
	name := u.exp.Sandbox.Weights()[i].Name
	for j, m := range models {
		if m.BaseModel == name {
			return fmt.Sprintf("sandbox.models.%d.base_model", j)
		}
	}
	return "sandbox.models"
}

// modelError says of an error of a model where the experiment has it.
func (u *up) modelError(i int, m experiment.Model, err error) error {
	var fault *modelload.Fault
	if errors.As(err, &fault) {
		return u.exp.Errorf(u.modelField(i), "the model `"+m.Name+"` cannot be loaded: "+fault.Message, fault.Hint)
	}
	return fmt.Errorf("%s: %w", u.exp.Errorf(u.modelField(i), "model "+m.Name, "").Error(), err)
}

// checkModel looks at the files of a model that a kernel or an interpreter will load,
// before anything is rented for it.
func (u *up) checkModel(i int, dir string) error {
	if !u.exp.Sandbox.Whole() || u.exp.Workspace.NoPreload {
		return nil
	}
	models := u.exp.Sandbox.Models
	return modelload.Check(dir, i < len(models) && models[i].IsPEFT)
}
