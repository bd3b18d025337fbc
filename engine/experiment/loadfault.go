package experiment

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

// LoadFault is an error of the Python that loads the models of a session.
type LoadFault struct {
	hint string
	err  error
	gpu  bool
}

// Hint says which line of the experiment it is about, what was wrong and what to do.
func (f *LoadFault) Hint() string { return f.hint }

// GPUFull reports whether the memory of a GPU was full.
func (f *LoadFault) GPUFull() bool { return f.gpu }

// Error is the hint, then what failed.
func (f *LoadFault) Error() string { return f.hint + "\n" + f.err.Error() }

// Unwrap is what failed.
func (f *LoadFault) Unwrap() error { return f.err }

const ownWay = "set workspace.preload_models: false and load it in workspace.init in your own way"

const moreGPU = "choose a sandbox.gpu with more memory, or a smaller dtype"

// advices are what to do about what Python libraries say, the first that fits.
var advices = []struct{ says, field, do string }{
	{`trust_remote_code`, "", "Seer runs no code that a model brings; if you trust it, " + ownWay},
	{`CUDA out of memory|OutOfMemoryError`, "", moreGPU},
	{`MemoryError|[Cc]an't allocate memory|Cannot allocate memory`, "", "set sandbox.memory to more than the models need, or choose a smaller dtype"},
	{`there is no device|not compiled with CUDA|No CUDA GPUs`, ".device", "set sandbox.gpu (and gpu_count), or remove device"},
	{`does not fit the base model`, ".base_model", "name the model that the adapter was trained on"},
	{`dtype|not implemented for '(Half|BFloat16|Float8)`, ".dtype", "choose another dtype, or remove it"},
	{``, "", "correct the model or its entry here, or " + ownWay},
}

// killed are the words of a kernel and of an interpreter that ended by SIGKILL.
var killed = lazyregexp.New(`the kernel was killed by signal 9|it was killed \(by somebody`)

// ExplainLoad says of an error of what runs before an agent starts which model it was
// about, or that the memory was full. said is what Python has said. Any other error is
// returned as it is.
func (e *Experiment) ExplainLoad(err error, said string) error {
	if err == nil {
		return nil
	}
	if killed().MatchString(said) {
		return &LoadFault{hint: e.memoryFull().Error(), err: err}
	}
	for i, m := range e.Sandbox.Models {
		if !strings.Contains(said, "the set-up 'model "+m.VarName+"' has failed:") && !strings.Contains(said, `"<model `+m.VarName+`>", line`) {
			continue
		}
		reason := strings.TrimRight(lastRaised(strings.Split(strings.TrimRight(said, "\n"), "\n")), ".")
		for _, a := range advices {
			if found, _ := regexp.MatchString(a.says, reason); !found {
				continue
			}
			gpu := a.do == moreGPU
			if gpu && e.Sandbox.GPUShare != nil {
				a.do = "set a larger gpu_share, or choose a smaller dtype"
			}
			at := fmt.Sprintf("sandbox.models.%d%s", i, a.field)
			hint := e.Errorf(at, fmt.Sprintf("the model %s cannot be loaded: %s", quote(m.Name), reason), a.do)
			return &LoadFault{hint.Error(), err, gpu}
		}
	}
	return err
}

func (e *Experiment) memoryFull() *Error {
	what := "the Python that is prepared for the agent was killed"
	if len(e.Sandbox.Models) > 0 && !e.Workspace.NoPreload {
		what = "the Python that loads the models was killed"
	}
	return e.Errorf("sandbox.memory", what+": most likely "+e.itsMemory()+" was full", e.moreMemory())
}

func (e *Experiment) moreMemory() string {
	if len(e.Sandbox.Models) == 0 {
		return "set sandbox.memory to more"
	}
	return "set sandbox.memory to more than the models need, or choose a smaller dtype"
}

func (e *Experiment) itsMemory() string {
	if gb := e.Sandbox.MemoryGB; gb > 0 {
		return fmt.Sprintf("the sandbox's memory of %.4g GiB", gb)
	}
	return "the sandbox's memory"
}

// MemoryFull says of the end of a whole sandbox that its memory was the reason.
func (e *Experiment) MemoryFull(err error) error {
	return &LoadFault{hint: e.Errorf("sandbox.memory", "the sandbox was killed: "+e.itsMemory()+" was full", e.moreMemory()).Error(), err: err}
}
