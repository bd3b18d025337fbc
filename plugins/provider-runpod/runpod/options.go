package runpod

import (
	"encoding/json"
	"regexp"
	"strings"

	given "github.com/seer-engine/seer/plugins/internal/options"
	"github.com/seer-engine/seer/sdk"
)

// options are the user's provider_options.
type options struct {
	Cloud      string `json:"cloud"`            // SECURE or COMMUNITY
	Cuda       string `json:"cuda"`             // lowest version of the host, 12.4; empty = any
	Template   string `json:"template"`         // id of a template of RunPod's
	Registry   string `json:"registry"`         // id of a credential for a private registry
	Entrypoint string `json:"image_entrypoint"` // keep, or replace by the machine's command
}

const (
	secure    = "SECURE"
	community = "COMMUNITY"

	keepEntrypoint    = "keep"
	replaceEntrypoint = "replace"
)

var (
	optionNames = []string{"cloud", "cuda", "template", "registry", "image_entrypoint"}
	cudaForm    = regexp.MustCompile(`^\d+\.\d+$`)
	idForm      = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`) // of pods, volumes, templates and credentials
)

// parseOptions reads provider_options. Unknown keys are mistakes.
func parseOptions(raw json.RawMessage) (options, error) {
	o := options{Cloud: secure, Entrypoint: keepEntrypoint}
	if err := given.Read(Name, raw, optionNames, `every value is a text in quotes (cuda: "12.4")`, &o); err != nil {
		return o, err
	}
	o.Cloud = strings.ToUpper(o.Cloud)
	return o, o.check()
}

func (o options) check() error {
	switch {
	case o.Cloud != secure && o.Cloud != community:
		return sdk.Errorf(sdk.Invalid, "provider_options: cloud is %s or %s, not %q", secure, community, o.Cloud)
	case o.Cuda != "" && !cudaForm.MatchString(o.Cuda):
		return sdk.Errorf(sdk.Invalid, "provider_options: cuda is a version such as 12.4, not %q", o.Cuda)
	case o.Entrypoint != keepEntrypoint && o.Entrypoint != replaceEntrypoint:
		return sdk.Errorf(sdk.Invalid, "provider_options: image_entrypoint is %s or %s, not %q", keepEntrypoint, replaceEntrypoint, o.Entrypoint)
	}
	for name, id := range map[string]string{"template": o.Template, "registry": o.Registry} {
		if id != "" && !idForm.MatchString(id) {
			return sdk.Errorf(sdk.Invalid, "provider_options: %s is an id of RunPod's, not %q", name, id)
		}
	}
	return nil
}
