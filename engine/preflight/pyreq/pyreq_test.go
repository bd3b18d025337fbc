package pyreq

import (
	"strings"
	"testing"
)

// In the order of PEP 440; each is before the next.
const ordered = `0.1 0.9.dev1 0.9 1.dev0 1.0.dev456 1.0a1 1.0a2.dev456 1.0a12.dev456 1.0a12 1.0b1.dev456 1.0b2 1.0b2.post345.dev456
	1.0b2.post345 1.0rc1.dev456 1.0rc1 1.0 1.0+abc.5 1.0+abc.7 1.0+5 1.0.post456.dev34 1.0.post456 1.0.15 1.1.dev1 1.1 2.0 1!0.1`

func TestOrder(t *testing.T) {
	var versions []Version
	for _, text := range strings.Fields(ordered) {
		v, err := ParseVersion(text)
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, v)
	}
	for i, v := range versions {
		for j, w := range versions {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := v.Compare(w); got != want {
				t.Errorf("%v against %v: %d, want %d", v, w, got, want)
			}
		}
	}
}

func TestSpellingsOfOneVersion(t *testing.T) {
	for _, same := range [][]string{
		{"1.0", "1", "1.0.0", "v1.0", " 1.0 ", "01.0"}, {"1.0a1", "1.0.ALPHA1", "1.0-a.1", "1.0_a_1"}, {"1.0rc1", "1.0c1", "1.0-pre-1", "1.0preview1"},
		{"1.0.post2", "1.0-2", "1.0r2", "1.0.rev2"}, {"1.0.dev0", "1.0dev", "1.0-DEV"}, {"1.0+ubuntu.1", "1.0+Ubuntu-1"},
	} {
		first, err := ParseVersion(same[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range same[1:] {
			if v, err := ParseVersion(text); err != nil || v.Compare(first) != 0 {
				t.Errorf("%q is not %q (%v)", text, same[0], err)
			}
		}
	}
	for _, text := range []string{"", "x", "1.x", "1..0", "1.0+", "1.0+a+b", "99999999999999999999", "1.0 2", "french toast"} {
		if v, err := ParseVersion(text); err == nil {
			t.Errorf("%q was read as %v", text, v)
		}
	}
}

func TestSpecifiers(t *testing.T) {
	for _, c := range []struct{ set, in, out string }{
		{"", "1.0 2.0a1", ""},
		{"==1.1", "1.1 1.1.0 1.1+local", "1.1.post1 1.1a1 1.2"},
		{"==1.1.*", "1.1 1.1.5 1.1a1 1.1.post1 1.1.dev1", "1.2 1 1.10"},
		{"==1.1.post1", "1.1.post1", "1.1"},
		{"!=1.1", "1.2 1.1.post1", "1.1 1.1.0"},
		{"!=1.1.*", "1.2 1.0", "1.1.3 1.1a1"},
		{"~=2.2", "2.2 2.3 2.99", "2.1 3.0"},
		{"~=2.2.post3", "2.2.post3 2.3", "2.2 3.0"},
		{"~=1.4.5a4", "1.4.5a4 1.4.5 1.4.9", "1.4.5a3 1.5"},
		{">=1.24,<3", "1.24 2.9", "1.23 3.0 3.0a1 3.dev1"},
		{">1.7", "1.7.1 1.8", "1.7 1.7.0.post1 1.7+local"},
		{">1.7.post2", "1.7.1 1.7.post3", "1.7.post2 1.7"},
		{"<3.1", "3.0 3.0.post1", "3.1 3.1.dev1 3.1rc1"},
		{"<3.1rc2", "3.1rc1 3.1.dev0", "3.1rc2"},
		{"<=2", "2 2.0.0 1.9 2+local", "2.0.1"},
		{"===1.0", "1.0", "1.0.0"},
		{"==1!1.0", "1!1.0", "1.0"},
		{"==1.0+abc", "1.0+abc 1.0+ABC", "1.0 1.0+abd"},
		{" >= 1.0 , != 1.5 ", "1.0 1.6", "1.5 0.9"},
	} {
		set, err := ParseSpecifiers(c.set)
		if err != nil {
			t.Errorf("%q: %v", c.set, err)
			continue
		}
		for _, v := range strings.Fields(c.in) {
			if ok, err := set.Contains(v); !ok || err != nil {
				t.Errorf("%s is not in %q (%v)", v, c.set, err)
			}
		}
		for _, v := range strings.Fields(c.out) {
			if ok, err := set.Contains(v); ok || err != nil {
				t.Errorf("%s is in %q (%v)", v, c.set, err)
			}
		}
	}
	for _, text := range []string{"1.0", "=1.0", ">=", ">=1.*", "~=1", "==1.0.dev1.*", "!=1.0a1.*", "==1.0+a.*", ">=1,", ">=1.0+abc", "=="} {
		if set, err := ParseSpecifiers(text); err == nil {
			t.Errorf("%q was read as %v", text, set)
		}
	}
}

func TestRequirements(t *testing.T) {
	env := map[string]string{"python_version": "3.11", "python_full_version": "3.11.2", "sys_platform": "linux", "platform_machine": "x86_64", "os_name": "posix", "platform_release": "6.1.0-13-amd64"}
	for _, c := range []struct {
		text, name, specs, extras, url string
		applies                        bool
	}{
		{"numpy", "numpy", "", "", "", true},
		{" NumPy >= 1.24 ", "numpy", ">=1.24", "", "", true},
		{"zope.interface_x", "zope-interface-x", "", "", "", true},
		{"a(>=1,<2)", "a", ">=1,<2", "", "", true},
		{"requests[security, Tests]>=2", "requests", ">=2", "security,tests", "", true},
		{"a[]", "a", "", "", "", true},
		{"pip @ https://example.org/pip.zip", "pip", "", "", "https://example.org/pip.zip", true},
		{"a; python_version < '3.8'", "a", "", "", "", false},
		{"a; python_version >= '3.9'", "a", "", "", "", true},
		{"a>=1; sys_platform == 'linux' and (os_name == 'nt' or platform_machine == 'x86_64')", "a", ">=1", "", "", true},
		{"a; sys_platform != 'linux' or python_full_version ~= '3.10.0'", "a", "", "", "", false},
		{"a; 'linux' in sys_platform", "a", "", "", "", true},
		{"a; sys_platform not in 'linux darwin'", "a", "", "", "", false},
		{"a; extra == 'test'", "a", "", "", "", false},
		{"a; python_version >= '3.10' and python_version < '3.9' or os_name == 'posix'", "a", "", "", "", true},
	} {
		r, err := Parse(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if r.Name != c.name || r.Specifiers.String() != c.specs || strings.Join(r.Extras, ",") != c.extras || r.URL != c.url {
			t.Errorf("%q: %+v", c.text, r)
		}
		if ok, err := r.Applies(env); err != nil || ok != c.applies {
			t.Errorf("%q applies: %v, %v", c.text, ok, err)
		}
	}
	for _, text := range []string{"", "-x", ">=1", "a b", "a[", "a[b", "a[,]", "a @", "a>=1;", "a; b == '1'", "a; os_name", "a; os_name == 'x", "a; (os_name == 'x'", "a; os_name == 'x' zzz",
		"a; os_name nand 'x'", "git+https://example.org/x.git", "./folder", "a==1.0.*.*", "a;" + strings.Repeat("(", 5000)} {
		if r, err := Parse(text); err == nil {
			t.Errorf("%q was read as %+v", text, r)
		}
	}
	if r, err := Parse("a; implementation_name == 'cpython'"); err != nil {
		t.Error(err)
	} else if _, err := r.Applies(env); err == nil {
		t.Error("an unknown environment was guessed")
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"numpy>=1.24,<3; python_version >= '3.9' and (os_name == 'posix')", "a[b,c]==1.0.*", "a @ http://x ; extra == 'y'", "a===x"} {
		f.Add(text, "1.0.post1+abc.5")
	}
	f.Fuzz(func(t *testing.T, text, version string) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		if _, err := r.Applies(map[string]string{"os_name": "posix"}); err == nil {
			_, _ = r.Specifiers.Contains(version)
		}
		if r.URL == "" {
			if again, err := ParseSpecifiers(r.Specifiers.String()); err != nil || again.String() != r.Specifiers.String() {
				t.Fatalf("%q does not survive being written: %v", r.Specifiers, err)
			}
		}
		v, err := ParseVersion(version)
		if err == nil && v.Compare(v) != 0 {
			t.Fatalf("%q is not itself", version)
		}
	})
}
