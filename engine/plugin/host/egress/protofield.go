package egress

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// protoField is a field number; a list of them leads down to a string.
type protoField = protowire.Number

const maxFieldDepth = 8

func parseFieldPath(text string) ([]protoField, error) {
	var out []protoField
	for _, part := range strings.Split(text, ".") {
		n, err := strconv.ParseInt(part, 10, 32)
		if err != nil || !protowire.Number(n).IsValid() || strconv.FormatInt(n, 10) != part {
			return nil, fmt.Errorf("%q is not a list of protobuf field numbers, like 1 or 3.1", text)
		}
		out = append(out, protowire.Number(n))
	}
	if len(out) > maxFieldDepth {
		return nil, fmt.Errorf("%q leads deeper than %d fields", text, maxFieldDepth)
	}
	return out, nil
}

var errNotProtobuf = errors.New("not a protobuf message")

// replaceField gives every string at a path of a protobuf message to f and puts its
// result there. All else stays as it is, byte for byte.
func replaceField(msg []byte, path []protoField, f func(string) string) ([]byte, error) {
	var out []byte
	for len(msg) > 0 {
		num, typ, n := protowire.ConsumeTag(msg)
		if n < 0 {
			return nil, errNotProtobuf
		}
		size := protowire.ConsumeFieldValue(num, typ, msg[n:])
		if size < 0 {
			return nil, errNotProtobuf
		}
		field := msg[:n+size]
		msg = msg[n+size:]
		if num != path[0] || typ != protowire.BytesType {
			out = append(out, field...)
			continue
		}
		inner, _ := protowire.ConsumeBytes(field[n:])
		if len(path) == 1 {
			inner = []byte(f(string(inner)))
		} else {
			var err error
			if inner, err = replaceField(inner, path[1:], f); err != nil {
				return nil, err
			}
		}
		out = protowire.AppendBytes(protowire.AppendTag(out, num, typ), inner)
	}
	return out, nil
}

// readField gives the string at a path, the last one where there are several.
func readField(msg []byte, path []protoField) (string, error) {
	var found string
	_, err := replaceField(msg, path, func(s string) string { found = s; return s })
	return found, err
}
