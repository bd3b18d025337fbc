package python

import "encoding/json"

// KeepGPUShare is Python that keeps torch in a kernel or an interpreter to the sandbox's share of
// its GPUs, as the worker of a service does. It must run before torch is imported, and leaves no
// variable.
func KeepGPUShare() string {
	source, err := Files.ReadFile("seer_worker/process/gpu_share.py")
	if err != nil {
		panic("python: " + err.Error()) // it is embedded
	}
	text, err := json.Marshal(string(source)) // which is a literal of Python as well
	if err != nil {
		panic("python: " + err.Error()) // a string
	}
	return "def _keep(scope):\n    exec(compile(" + string(text) + ", \"<share of the GPU>\", \"exec\"), scope)\n" +
		"    scope[\"keep\"](__import__(\"os\").environ)\n_keep({\"__name__\": \"seer_gpu_share\"})\ndel _keep\n"
}
