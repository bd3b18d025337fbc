package experiment_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/sdk"
)

func TestExplainLoad(t *testing.T) {
	e, err := parse("sandbox:\n  execution_mode: notebook\n  memory: 2GB\n  models:\n  - name: ./base\n    var_name: big\n    device: cuda\n" +
		"  - name: ./adapter\n    var_name: small\n    is_peft: true\n    base_model: ./base\n")
	if err != nil {
		t.Fatal(err)
	}
	const frame = "\n--------\nValueError      Traceback (most recent call last)\nCell In[1], line 73\n    72 x\n\n"
	notebook := func(name, raised string) string {
		return "prepare a kernel: the set-up 'model " + name + "' has failed:" + frame + raised
	}
	shell := func(name, raised string) string {
		return raised + "\nTraceback (most recent call last):\n  File \"<model " + name + ">\", line 94, in <module>\n    f()\n" + raised
	}
	for what, c := range map[string]struct{ said, want string }{
		"other":        {notebook("other", "ValueError: x"), ""},
		"init":         {"prepare a kernel: the set-up 'init' has failed:" + frame + "ValueError: x", ""},
		"own code":     {notebook("big", "ValueError: give `trust_remote_code=True`."), "5: sandbox.models.0: the model `./base` cannot be loaded: ValueError: give `trust_remote_code=True`; Seer runs no code"},
		"no GPU":       {shell("big", "RuntimeError: there is no device 'cuda'"), "7: sandbox.models.0.device: the model `./base` cannot be loaded: RuntimeError: there is no device 'cuda'; set sandbox.gpu"},
		"misfit":       {shell("small", "ValueError: the adapter a does not fit the base model b"), "11: sandbox.models.1.base_model: the model `./adapter` cannot"},
		"dtype":        {notebook("small", "TypeError: no dtype of torch"), "8: sandbox.models.1.dtype: the model `./adapter` cannot be loaded: TypeError: no dtype of torch; choose another dtype"},
		"GPU memory":   {notebook("big", "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried"), "; choose a sandbox.gpu with more memory"},
		"memory":       {notebook("big", "RuntimeError: can't allocate memory: you tried"), "; set sandbox.memory"},
		"anything":     {notebook("big", "OSError: Error no file named model.safetensors"), "the model `./base` cannot be loaded: OSError: Error no file named model.safetensors; correct the model"},
		"killed":       {"prepare a kernel: the kernel was killed by signal 9 (SIGKILL): perhaps", "3: sandbox.memory: the Python that loads the models was killed: most likely the sandbox's memory of 2 GiB was full; set sandbox.memory"},
		"killed shell": {"the interpreter python3: it was killed (by somebody, or because the memory was full)", "3: sandbox.memory: the Python that loads"},
		"crashed":      {"prepare a kernel: the kernel was killed by signal 11 (SIGSEGV)", ""},
	} {
		was := errors.New("what has failed")
		got := e.ExplainLoad(was, c.said)
		var fault *experiment.LoadFault
		switch {
		case c.want == "" && got != was:
			t.Errorf("%s: %v", what, got)
		case c.want != "" && (!errors.As(got, &fault) || !strings.Contains(fault.Hint(), c.want) || !errors.Is(got, was) || !strings.HasSuffix(got.Error(), "\nwhat has failed")):
			t.Errorf("%s: %v, not %s", what, got, c.want)
		}
	}
	e.Sandbox.GPUShare = &sdk.GPUShare{Parts: 4}
	if err := e.ExplainLoad(errors.New("x"), notebook("big", "torch.OutOfMemoryError: CUDA out of memory. Tried")).Error(); !strings.Contains(err, "; set a larger gpu_share, or choose") {
		t.Error(err)
	}
	if err := e.MemoryFull(errors.New("all of it died")).Error(); !strings.Contains(err, "3: sandbox.memory: the sandbox was killed: the sandbox's memory of 2 GiB was full; set sandbox.memory") {
		t.Error(err)
	}
	if e.ExplainLoad(nil, "") != nil {
		t.Error("no error is explained")
	}
}
