package guestgrpc

import (
	"encoding/base64"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// encode makes metadata fit for JSON: values of binary keys become base64.
func encode(md metadata.MD) (map[string][]string, error) {
	out := map[string][]string{}
	for key, values := range md {
		key = strings.ToLower(key)
		for _, v := range values {
			switch {
			case binary(key):
				v = base64.StdEncoding.EncodeToString([]byte(v))
			case !printable(v):
				return nil, status.Errorf(codes.Internal, "header key %q contains value with non-printable ASCII characters", key)
			}
			out[key] = append(out[key], v)
		}
	}
	return out, nil
}

// decode undoes encode. What is no base64 stays as it is: the far side may have put
// anything there.
func decode(in map[string][]string) metadata.MD {
	md := metadata.MD{}
	for key, values := range in {
		key = strings.ToLower(key)
		for _, v := range values {
			if binary(key) {
				if raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "=")); err == nil {
					v = string(raw)
				}
			}
			md.Append(key, v)
		}
	}
	return md
}

func binary(key string) bool { return strings.HasSuffix(key, "-bin") }

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}
