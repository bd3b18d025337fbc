package store

import (
	"bytes"
	"maps"
	"slices"
	"sort"

	"go.yaml.in/yaml/v3"
)

func (p Locked) equal(q Locked) bool {
	a, b := p, q
	a.Contract, b.Contract = nil, nil
	return slices.Equal(p.Contract, q.Contract) && a.Reference == b.Reference && a.Digest == b.Digest && a.OCI == b.OCI &&
		a.Version == b.Version && a.Signer == b.Signer && a.Permissions == b.Permissions
}

// encode puts the values into the file as it was read. The plugins are in the order of
// their ids, so that two people who add one each seldom meet.
func (l *Lock) encode() ([]byte, error) {
	if l.doc == nil {
		l.doc = &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode, Content: []*yaml.Node{word("version"), {Kind: yaml.ScalarNode, Tag: "!!int", Value: "1"}}}}}
	}
	root := l.doc.Content[0]
	plugins := value(root, "plugins")
	if plugins == nil {
		plugins = &yaml.Node{Kind: yaml.MappingNode}
		root.Content = append(root.Content, word("plugins"), plugins)
	}
	if plugins.Kind != yaml.MappingNode { // it was null
		plugins.Kind, plugins.Tag, plugins.Value = yaml.MappingNode, "!!map", ""
	}
	plugins.Style = 0
	for _, id := range slices.Sorted(maps.Keys(l.Plugins)) {
		entry := value(plugins, id)
		if entry == nil {
			entry = &yaml.Node{Kind: yaml.MappingNode}
			plugins.Content = append(plugins.Content, word(id), entry)
		}
		l.Plugins[id].fill(entry)
	}
	sortKeys(plugins, func(id string) bool { _, keep := l.Plugins[id]; return keep })
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(l.doc); err != nil {
		return nil, err
	}
	return out.Bytes(), enc.Close()
}

// fill sets the values of a mapping, and leaves the comments of those that stay.
func (p Locked) fill(entry *yaml.Node) {
	signer := p.Signer
	if signer == "" {
		signer = "none"
	}
	values := map[string]string{"reference": p.Reference, "digest": p.Digest, "oci": p.OCI, "version": p.Version,
		"signer": signer, "permissions": p.Permissions}
	contract := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, c := range p.Contract {
		contract.Content = append(contract.Content, word(c))
	}
	old := &yaml.Node{Kind: yaml.MappingNode, Content: entry.Content}
	entry.Content = nil
	for _, key := range lockKeys {
		want := word(values[key])
		if key == "contract" {
			want = contract
		} else if values[key] == "" {
			continue
		}
		name := word(key)
		for i := 0; i+1 < len(old.Content); i += 2 {
			if had := old.Content[i+1]; old.Content[i].Value == key {
				name = old.Content[i]
				want.HeadComment, want.LineComment, want.FootComment = had.HeadComment, had.LineComment, had.FootComment
			}
		}
		entry.Content = append(entry.Content, name, want)
	}
}

// word is a plain string, quoted where YAML would read something else.
func word(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

func value(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

func sortKeys(mapping *yaml.Node, keep func(string) bool) {
	var pairs [][2]*yaml.Node
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if keep(mapping.Content[i].Value) {
			pairs = append(pairs, [2]*yaml.Node{mapping.Content[i], mapping.Content[i+1]})
		}
	}
	sort.SliceStable(pairs, func(i, j int) bool { return pairs[i][0].Value < pairs[j][0].Value })
	mapping.Content = nil
	for _, p := range pairs {
		mapping.Content = append(mapping.Content, p[0], p[1])
	}
}
