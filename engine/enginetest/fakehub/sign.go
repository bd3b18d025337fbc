package fakehub

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/transfer/xet"
)

// signer makes URLs that are valid for some time, and checks them.
type signer struct {
	secret []byte
	now    func() time.Time
	life   time.Duration
}

// sign makes a path that is valid for some time, and with ranges only for these.
func (s signer) sign(path, ranges string) string {
	query := url.Values{"Expires": {strconv.FormatInt(s.now().Add(s.life).Unix(), 10)}}
	if ranges != "" {
		query.Set("X-Xet-Signed-Range", ranges)
	}
	query.Set("Signature", s.signature(path, query))
	return path + "?" + query.Encode()
}

func (s signer) signature(path string, query url.Values) string {
	mac := hmac.New(sha256.New, s.secret)
	_, _ = fmt.Fprintf(mac, "%s\n%s\n%s", path, query.Get("Expires"), query.Get("X-Xet-Signed-Range"))
	return hex.EncodeToString(mac.Sum(nil))
}

func (s signer) verify(r *request) error {
	query := r.URL.Query()
	if !hmac.Equal([]byte(query.Get("Signature")), []byte(s.signature(r.URL.EscapedPath(), query))) {
		return errSignature
	}
	expires, err := strconv.ParseInt(query.Get("Expires"), 10, 64)
	if err != nil || s.now().Unix() >= expires {
		return errExpired
	}
	if signed := query.Get("X-Xet-Signed-Range"); signed != "" && !inside(r.Header.Get("Range"), signed) {
		return errSignature
	}
	return nil
}

// inside is true if each range of a Range header lies in a range of another one.
func inside(asked, signed string) bool {
	have, err := ranges(signed)
	if err != nil {
		return false
	}
	want, err := ranges(asked)
	return err == nil && !slices.ContainsFunc(want, func(w xet.ByteRange) bool {
		return !slices.ContainsFunc(have, func(h xet.ByteRange) bool { return h.First <= w.First && w.Last <= h.Last })
	})
}

// ranges reads a Range header in which every range has both ends.
func ranges(header string) (all []xet.ByteRange, err error) {
	list, _ := strings.CutPrefix(header, "bytes=")
	for text := range strings.SplitSeq(list, ",") {
		var r xet.ByteRange
		if _, err := fmt.Sscanf(strings.TrimSpace(text), "%d-%d", &r.First, &r.Last); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}
