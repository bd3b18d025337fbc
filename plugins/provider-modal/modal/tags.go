package modal

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
)

// The tags of a machine. They are how it is found again and known as ours.
const (
	tagPrefix = "seer-"
	tagKey    = tagPrefix + "key"
	tagOwner  = tagPrefix + "owner"
	tagEnd    = tagPrefix + "end"  // Unix time
	tagName   = tagPrefix + "name" // for people
	tagCost   = tagPrefix + "cost" // USD for an hour, as known when it was rented
)

const maxTag = 63 // characters of a name or value

var untaggable = regexp.MustCompile(`[^a-zA-Z0-9_.-]+`)

// tag makes text fit for a tag. Two texts do not become the same one by accident.
func tag(text string) string {
	clean := untaggable.ReplaceAllString(text, "-")
	if clean == text && len(text) <= maxTag {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	suffix := "-" + hex.EncodeToString(sum[:6])
	return clean[:min(len(clean), maxTag-len(suffix))] + suffix
}

// tags are those of a new machine.
func (o *order) tags(costPerHour float64) []*pb.SandboxTag {
	all := map[string]string{}
	for name, value := range o.Labels {
		if !strings.HasPrefix(name, tagPrefix) && name != "" && value != "" {
			all[tag(name)] = tag(value)
		}
	}
	all[tagKey], all[tagOwner] = tag(o.Key), tag(o.Owner)
	if o.EndUnix > 0 {
		all[tagEnd] = strconv.FormatInt(o.EndUnix, 10)
	}
	if o.Name != "" {
		all[tagName] = tag(o.Name)
	}
	if costPerHour > 0 {
		all[tagCost] = strconv.FormatFloat(costPerHour, 'f', 4, 64)
	}
	return tagList(all)
}

func tagList(all map[string]string) []*pb.SandboxTag {
	var out []*pb.SandboxTag
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, pb.SandboxTag_builder{TagName: name, TagValue: all[name]}.Build())
	}
	return out
}

func tagMap(list []*pb.SandboxTag) map[string]string {
	out := make(map[string]string, len(list))
	for _, t := range list {
		out[t.GetTagName()] = t.GetTagValue()
	}
	return out
}

func endOf(tags map[string]string) int64 {
	end, err := strconv.ParseInt(tags[tagEnd], 10, 64)
	if err != nil || end < 0 {
		return 0 // unknown
	}
	return end
}

func costOf(tags map[string]string) float64 {
	cost, err := strconv.ParseFloat(tags[tagCost], 64)
	if err != nil || !(cost > 0) {
		return 0 // unknown
	}
	return cost
}
