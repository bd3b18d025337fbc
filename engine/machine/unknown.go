package machine

import (
	"bytes"
	"encoding/json"
	"slices"
)

// KeepUnknown is after with what this version of Seer does not know of before: the fields that
// a newer one has written. known is before as this version reads and writes it, and after is
// known as it was changed. In a list, only elements that were not changed keep such fields: nobody
// can tell what a changed one was.
func KeepUnknown(before, known, after json.RawMessage) json.RawMessage {
	var was, read, now map[string]json.RawMessage
	if objects := json.Unmarshal(before, &was) == nil && json.Unmarshal(known, &read) == nil && json.Unmarshal(after, &now) == nil; objects && now != nil {
		if keepMembers(was, read, now) {
			return encoded(now, after)
		}
		return after
	}
	var wasAll, readAll, nowAll []json.RawMessage
	if json.Unmarshal(before, &wasAll) != nil || json.Unmarshal(known, &readAll) != nil || json.Unmarshal(after, &nowAll) != nil || len(wasAll) != len(readAll) {
		return after
	}
	kept := false
	for i, element := range nowAll {
		same := slices.IndexFunc(readAll, func(r json.RawMessage) bool { return bytes.Equal(r, element) })
		if same >= 0 {
			nowAll[i] = KeepUnknown(wasAll[same], element, element)
			kept = kept || !bytes.Equal(nowAll[i], element)
		}
	}
	if !kept {
		return after
	}
	return encoded(nowAll, after)
}

// keepMembers adds to an object what it lacks of the unknown, and reports whether that was anything.
func keepMembers(was, known, now map[string]json.RawMessage) (kept bool) {
	for name, value := range was {
		read, isKnown := known[name]
		current, there := now[name]
		switch {
		case !isKnown && !there:
			now[name], kept = value, true
		case isKnown && there:
			now[name] = KeepUnknown(value, read, current)
			kept = kept || !bytes.Equal(now[name], current)
		}
	}
	return kept
}

// encoded is a value of parts that are JSON, or otherwise what it was made of.
func encoded(value any, of json.RawMessage) json.RawMessage {
	data, err := json.Marshal(value)
	if err != nil {
		return of
	}
	return data
}
