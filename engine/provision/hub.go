package provision

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/fetch"
	"github.com/seer-engine/seer/engine/machine"
	"github.com/seer-engine/seer/engine/netproxy"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

const (
	offlineVariable  = "HF_HUB_OFFLINE" // clients of the Hub look only into their cache
	endpointVariable = "HF_ENDPOINT"    // of the Hub or a mirror
	usualEndpoint    = "https://huggingface.co"
	mainBranch       = "main"
)

// reachesHub reports whether code in a sandbox can reach the Hub, or the mirror that it is told
// to use. Where it cannot, clients would try for a minute before they look at what is there.
func reachesHub(s experiment.Sandbox) bool {
	if s.Network != "hosts" {
		return s.Network != "none"
	}
	endpoint := s.Env[endpointVariable]
	if endpoint == "" {
		endpoint = usualEndpoint
	}
	at, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	port := 443
	if at.Scheme == "http" {
		port = 80
	}
	if at.Port() != "" {
		if port, err = strconv.Atoi(at.Port()); err != nil {
			return false
		}
	}
	hosts, err := netproxy.ParseHosts(s.NetworkHosts)
	return err == nil && hosts.Match(at.Hostname(), port)
}

// optional are files that transformers looks for and that many repositories lack. A client
// without the token of a gated repository is refused where others learn that there is no file,
// and newer ones end then.
var optional = []string{
	"adapter_config.json", "added_tokens.json", "chat_template.jinja", "chat_template.json", "config.json", "custom_generate/generate.py",
	"generation_config.json", "merges.txt", "model.safetensors", "model.safetensors.index.json", "preprocessor_config.json", "processor_config.json",
	"pytorch_model.bin", "pytorch_model.bin.index.json", "special_tokens_map.json", "spiece.model", "tekken.json", "tokenizer.json",
	"tokenizer.model", "tokenizer_config.json", "video_preprocessor_config.json", "vocab.json", "vocab.txt",
}

// absent are those of the optional files that the repository of a model has not. Of a part of
// the files, it is not known.
func absent(m experiment.Model, got fetch.Model) (names []string) {
	if m.Source != experiment.SourceHub || m.Dataset || len(m.Include)+len(m.Exclude) > 0 {
		return nil
	}
	for _, name := range optional {
		has := func(f sdk.ModelFile) bool { return f.Path == name }
		if !slices.ContainsFunc(got.Files, has) && !slices.ContainsFunc(got.Omitted, has) {
			names = append(names, name)
		}
	}
	return names
}

// named are the models as the Hub's clients in the sandbox find them: by the name that the
// user wrote and by the Hub's own. A name without a revision leads to the entry that has none,
// or else to the first of its name.
func named(told []protocol.Model, models []machine.Model) []protocol.Model {
	mains := map[string]int{} // repository → which model main leads to
	shown := func(m machine.Model) bool { return m.Repo != "" && !m.Hidden }
	for i, m := range models {
		if !shown(m) {
			continue
		}
		first, known := mains[m.Repo]
		if !known || models[first].Ref != "" && models[first].Ref != mainBranch && (m.Ref == "" || m.Ref == mainBranch) {
			mains[m.Repo] = i
		}
	}
	for i, m := range models {
		if !shown(m) {
			continue
		}
		asked := strings.TrimPrefix(m.Name, m.Source+":")
		if m.Dataset {
			asked = "datasets/" + asked
		}
		told[i].Absent = m.Absent
		told[i].Repos = slices.Compact([]string{m.Repo, asked})
		if m.Ref != "" && m.Ref != m.Revision {
			told[i].Refs = append(told[i].Refs, m.Ref)
		}
		if mains[m.Repo] == i && m.Ref != mainBranch {
			told[i].Refs = append(told[i].Refs, mainBranch)
		}
	}
	return told
}

// nameModels lets the Hub's clients in the sandbox find the models, once all of these are there
// and a snapshot cannot take the links away any more.
func (s *start) nameModels(ctx context.Context) error {
	s.placed = true
	if !slices.ContainsFunc(s.Models, func(m machine.Model) bool { return m.Repo != "" }) && s.Snapshot == "" {
		return nil
	}
	return s.configure(ctx)
}
