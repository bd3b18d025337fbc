package egress

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/quick"

	"google.golang.org/protobuf/encoding/protowire"
)

func TestPublic(t *testing.T) {
	for text, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "93.184.216.34": true, "2606:4700::1111": true, "64:ff9b::808:808": true, "::ffff:8.8.8.8": true,
		"0.0.0.0": false, "0.1.2.3": false, "10.1.2.3": false, "100.64.0.1": false, "100.100.100.200": false, "127.0.0.1": false,
		"127.9.9.9": false, "169.254.169.254": false, "169.254.170.2": false, "172.16.0.1": false, "172.31.255.255": false,
		"192.0.0.192": false, "192.168.1.1": false, "198.18.0.1": false, "224.0.0.1": false, "255.255.255.255": false, "168.63.129.16": false,
		"::": false, "::1": false, "::127.0.0.1": false, "::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "fe80::1": false,
		"fe80::1%eth0": false, "fec0::1": false, "fd00:ec2::254": false, "fc00::1": false, "ff02::1": false, "64:ff9b::a9fe:a9fe": false,
		"64:ff9b::7f00:1": false, "64:ff9b:1::808:808": false, "2001::1": false, "2001:db8::1": false, "2002:7f00:1::": false,
		"2002:a9fe:a9fe::": false, "2606:4700::1%eth0": false, "100::1": false, "5f00::1": false,
	} {
		if got := public(netip.MustParseAddr(text)); got != want {
			t.Errorf("public(%s) = %v", text, got)
		}
	}
	if public(netip.Addr{}) {
		t.Error("no address is public")
	}
}

func TestMatchPath(t *testing.T) {
	for _, tc := range []struct {
		pattern, path string
		want          bool
	}{
		{"/v2/pods", "/v2/pods", true},
		{"/v2/pods", "/v2/pods/", false},
		{"/v2/pods", "/v2/podsx", false},
		{"/v2/pods/*", "/v2/pods/1", true},
		{"/v2/pods/*", "/v2/pods/1/action", false},
		{"/v2/pods/*/action", "/v2/pods/1/action", true},
		{"/v2/**", "/v2/pods/1/action", true},
		{"/v2/**", "/v2/", true},
		{"/v2/**", "/v2", false},
		{"/v2/**", "/v20/x", false},
		{"/*/**", "/v9/x/y", true},
		{"/**", "/", true},
		{"/**", "/x/y", true},
		{"/v2/p[ab]", "/v2/pa", true},
		{"/machines/x[!-~]all", "/machines/x/all", false}, // a bracket is no slash
		{"/machines[^x]all", "/machines/all", false},
		{"/machines/[a-c]", "/machines/b", true},
	} {
		if err := checkPathPattern(tc.pattern); err != nil {
			t.Error(err)
		}
		if got := matchPath(tc.pattern, tc.path); got != tc.want {
			t.Errorf("%s matches %s: %v", tc.pattern, tc.path, got)
		}
	}
	for _, bad := range []string{"", "v2", "/a/**/b", "/a**", "/a/[", "/**/**"} {
		if checkPathPattern(bad) == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestParseOrigin(t *testing.T) {
	for text, want := range map[string]string{
		"https://Api.Example.com":     "https://api.example.com",
		"https://api.example.com:443": "https://api.example.com",
		"https://api.example.com/":    "https://api.example.com",
		"HTTP://localhost:080":        "http://localhost",
		"http://127.0.0.1:8080":       "http://127.0.0.1:8080",
		"https://[2001:DB8::1]:8443":  "https://[2001:db8::1]:8443",
	} {
		if o, err := parseOrigin(text); err != nil || o.String() != want {
			t.Errorf("%s: %v, %v", text, o, err)
		}
	}
	for _, bad := range []string{"", "api.example.com", "ftp://x", "https://", "https://u@x", "https://x/y", "https://x?y", "https://x#y", "https://x?",
		"https://x:0", "https://x:70000", "https://x..y", "https://.x", "https://x.", "https://x y", "https://ex\u0430mple.com", "https://x\\@y", "https:x"} {
		if o, err := parseOrigin(bad); err == nil {
			t.Errorf("%q was accepted as %v", bad, o)
		}
	}
}

func FuzzPlainPath(f *testing.F) {
	for _, s := range []string{"/v2/pods", "/a/%2e%2e/b", "/a/..%5cb", "//x", "/%25%32%65", "/a/..;x/b", "/\u2025/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := url.Parse("https://x" + text)
		if err != nil || u.Host != "x" {
			return
		}
		p, err := plainPath(u)
		if err != nil {
			return
		}
		again, err := url.PathUnescape(p)
		if err == nil {
			p = again
		}
		for _, s := range strings.Split(strings.Trim(p, "/"), "/") {
			if s == ".." || s == "." || strings.Contains(s, `\`) {
				t.Errorf("%q was accepted as %q", text, p)
			}
		}
	})
}

// However a stream is cut, none of a secret's forms comes out, and nothing else is
// lost or moved.
func FuzzFilter(f *testing.F) {
	f.Add("hunter22", []byte("a hunter22 b"), uint8(3))
	f.Add("abab", []byte("abaabababab"), uint8(1))
	f.Add("a/b c", []byte("a%2Fb+c a\\/b c YS9iIGM"), uint8(2))
	f.Fuzz(func(t *testing.T, secret string, text []byte, cut uint8) {
		if len(secret) < shortestSecret || len(text) > 1<<14 {
			return
		}
		s := newScrubber()
		s.know("x", secret)
		whole := bytes.Clone(text)
		s.fill(whole)
		out, in := filter{s: s}, bytes.NewReader(text)
		var got []byte
		for buf := make([]byte, int(cut)+1); ; {
			n, err := in.Read(buf)
			got = append(got, out.next(buf[:n], err != nil)...)
			if err != nil {
				break
			}
		}
		if len(got) != len(text) || !bytes.Equal(got, whole) {
			t.Errorf("in pieces of %d: %q, at once %q", int(cut)+1, got, whole)
		}
		if !strings.Contains("[secret x]****", secret) && bytes.Contains(got, []byte(secret)) && !strings.ContainsAny(secret, "[secrtx]*") {
			t.Errorf("%q is left in %q", secret, got)
		}
		if scrubbed := s.text(string(text)); !bytes.Contains(whole, []byte("[")) && scrubbed != string(text) {
			t.Errorf("text %q", scrubbed)
		}
	})
}

// Base64 of a secret in the middle of something longer.
func TestSecretInsideBase64(t *testing.T) {
	s := newScrubber()
	s.know("key", token)
	for n := range 9 {
		for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			hidden := alphabet.EncodeToString([]byte(strings.Repeat("u", n) + token + ":rest"))
			got := s.text(hidden)
			if !strings.Contains(got, "[secret key]") {
				t.Errorf("%q stays %q", hidden, got)
			}
		}
	}
}

func TestForget(t *testing.T) {
	s := newScrubber()
	s.know("a", "value-1")
	s.know("b", "value-2")
	s.forget("a", "value-1")
	s.forget("a", "value-2")
	if got := s.text("value-1 value-2"); got != "value-1 [secret b]" {
		t.Errorf("%q", got)
	}
}

func BenchmarkScrub(b *testing.B) {
	s := newScrubber()
	for i := range 100 {
		s.know("jwt", "eyJhbGciOiJIUzI1NiJ9."+strings.Repeat(string(rune('a'+i%26)), 200+i))
	}
	text := bytes.Repeat([]byte(`{"id":"7h9k2m4n6p","name":"seer-1","status":"PROVISIONING"},`), 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s.fill(text)
	}
}

// What a backend gives without end does not stay without end.
func TestVaultIsBounded(t *testing.T) {
	v := newVault(newScrubber())
	defer v.close()
	seen := map[string]bool{}
	for i := range maxCaptured + 10 {
		seen[v.keep(credential{name: "x", real: fmt.Sprintf("credential-%04d", i)}, false)] = true
	}
	if len(seen) != maxCaptured+10 || len(v.kept) != maxCaptured || v.scrub.text("credential-0009") != "credential-0009" ||
		v.scrub.text("credential-0010") != "[secret x]" {
		t.Errorf("%d placeholders, %d kept", len(seen), len(v.kept))
	}
	for s := range seen {
		if strings.Contains(s, "credential") {
			t.Fatalf("placeholder %q", s)
		}
	}
}

func message(fields ...any) []byte {
	var b []byte
	for i := 0; i < len(fields); i += 2 {
		num := protowire.Number(fields[i].(int))
		switch v := fields[i+1].(type) {
		case string:
			b = protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), v)
		case []byte:
			b = protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), v)
		case int:
			b = protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), uint64(v))
		}
	}
	return b
}

func TestReplaceField(t *testing.T) {
	in := message(1, "keep", 2, 7, 3, message(1, "old", 9, "x"), 1, "keep too", 3, message(1, "older"))
	want := message(1, "keep", 2, 7, 3, message(1, "OLD", 9, "x"), 1, "keep too", 3, message(1, "OLDER"))
	path, err := parseFieldPath("3.1")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := replaceField(in, path, strings.ToUpper); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%x, %v, want %x", got, err, want)
	}
	if last, err := readField(in, path); err != nil || last != "older" {
		t.Errorf("%q, %v", last, err)
	}
	for _, bad := range []string{"", "0", "1.", ".1", "01", "x", "-1", "536870912", "1.2.3.4.5.6.7.8.9"} {
		if _, err := parseFieldPath(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func FuzzReplaceField(f *testing.F) {
	f.Add(message(1, "a", 3, message(1, "secret")), "3.1")
	f.Add([]byte{0x0a, 0xff}, "1")
	f.Add([]byte{0x0b, 0x0c}, "1")
	f.Fuzz(func(t *testing.T, msg []byte, text string) {
		path, err := parseFieldPath(text)
		if err != nil {
			return
		}
		var seen []string
		out, err := replaceField(msg, path, func(s string) string { seen = append(seen, s); return "-" + s })
		if err != nil {
			return
		}
		i := 0
		back, err := replaceField(out, path, func(s string) string {
			if i++; s != "-"+seen[i-1] {
				t.Errorf("%q, want -%q", s, seen[i-1])
			}
			return s[1:]
		})
		if err != nil || i != len(seen) {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		// Lengths may have been written in a longer form than needed, and stay valid.
		if again, err := replaceField(back, path, func(s string) string { return s }); err != nil || !bytes.Equal(again, back) {
			t.Errorf("%x, then %x", back, again)
		}
	})
}

func FuzzLifeOf(f *testing.F) {
	f.Add("a.eyJleHAiOjF9.c")
	f.Add("..")
	f.Add("a." + base64.RawURLEncoding.EncodeToString([]byte(`{"exp":1e400}`)) + ".c")
	f.Fuzz(func(t *testing.T, token string) {
		made := placeholder("x", lifeOf(token), true)
		if strings.Count(made, ".") != 2 || strings.Contains(made, "=") {
			t.Errorf("placeholder %q", made)
		}
	})
}

// The quick search gives what a slow one gives.
func TestFindIsBytesIndex(t *testing.T) {
	if err := quick.Check(func(raw []byte, text []byte) bool {
		for i := range raw {
			raw[i] = 'a' + raw[i]%2
		}
		for i := range text {
			text[i] = 'a' + text[i]%2
		}
		if len(raw) < needleHead {
			return true
		}
		n := &needles{by: map[uint32][]needle{}}
		n.add(needle{raw[:needleHead], "x"})
		at, hit := n.find(text)
		want := bytes.Index(text, raw[:needleHead])
		return hit == nil && want < 0 || hit != nil && at == want
	}, &quick.Config{MaxCount: 2000}); err != nil {
		t.Error(err)
	}
}
