package sdk

import "testing"

// What Python's fnmatch says of the same.
func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"*.safetensors", "a.safetensors", true},
		{"*.safetensors", "sub/a.safetensors", true},
		{"*.safetensors", "a.SAFETENSORS", false},
		{"sub/", "sub/a/b", true},
		{"sub/", "sub", false},
		{"sub", "sub/a", false},
		{"a?b", "a/b", true},
		{"a?b", "ab", false},
		{"[a-c].txt", "b.txt", true},
		{"[!a-c].txt", "b.txt", false},
		{"[!a-c].txt", "é.txt", true},
		{"[]].txt", "].txt", true},
		{"[.txt", "[.txt", true},
		{"[a-", "[a-", true},
		{"[z-a]", "b", false},
		{"[!z-a]", "b", true},
		{"[!]", "[!]", true},
		{"[!]]", "]", false},
		{"[!!]", "!", false},
		{"[a-]", "-", true},
		{"[--a]", "A", true},
		{"[a-c-e]", "d", false},
		{"[a-c-e]", "-", true},
		{"[\\d]", "d", true},
		{"[\\d]", "1", false},
		{"[[]", "[", true},
		{"[^a]", "^", true},
		{"[^a]", "b", false},
		{"*", "x/y\nz", true},
		{"", "", true},
		{"", "x", false},
		{"**/x", "a/x", true},
		{"**/x", "x", false},
		{"é*", "éa", true},
		{"[à-ü]", "é", true},
		{"[]-a]", "_", true},
		{"a*b*c", "aXbYbZc", true},
		{"a*b*c", "abcb", false},
		{"model-*-of-*", "model-1-of-2.safetensors", true},
		{"*.", "a.", true},
		{"[a-b", "a", false},
	} {
		if got := matchPattern(c.pattern, c.path); got != c.want {
			t.Errorf("%q of %q: %t", c.pattern, c.path, got)
		}
	}
}

func TestWants(t *testing.T) {
	r := ModelRef{Include: []string{"*.json", "weights/"}, Exclude: []string{"*/old.*"}}
	for path, want := range map[string]bool{"a.json": true, "weights/1": true, "weights/old.1": false, "x/old.json": false, "b.txt": false} {
		if r.Wants(path) != want {
			t.Errorf("%s: %t", path, !want)
		}
	}
	if !(ModelRef{}).Wants("x") || (ModelRef{Exclude: []string{"x"}}).Wants("x") {
		t.Error("without include, everything is wanted that exclude does not match")
	}
}

func FuzzPattern(f *testing.F) {
	f.Add("*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
	f.Add("[!]", "[")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if len(pattern)+len(path) > 10_000 {
			return
		}
		matchPattern(pattern, path) // ends, and does not panic
		if !matchPattern(path+"*", path) && !hasSpecial(path) {
			t.Errorf("%q does not match itself", path)
		}
	})
}

func hasSpecial(text string) bool {
	for _, r := range text {
		if r == '*' || r == '?' || r == '[' {
			return true
		}
	}
	return false
}
