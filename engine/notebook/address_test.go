package notebook_test

import (
	"strings"
	"testing"

	"github.com/seer-engine/seer/engine/notebook"
)

func TestParse(t *testing.T) {
	const token = "secret-token-0123"
	for text, want := range map[string]string{
		"http://127.0.0.1:8888/?token=" + token:                    "http://127.0.0.1:8888/",
		" http://127.0.0.1:8888?token=" + token + "\n":             "http://127.0.0.1:8888/",
		"https://x.example/user/lab/?token=" + token:               "https://x.example/user/",
		"https://x.example/base/lab/tree/a b.ipynb?token=" + token: "https://x.example/base/",
		"http://[::1]:9/tree?token=" + token:                       "http://[::1]:9/",
		"http://h/notebooks/n.ipynb?reset&token=" + token:          "http://h/",
		"http://h/seer/v1?token=" + token:                          "http://h/",
		"unix:/run/a%20b/jupyter.sock?token=" + token:              "unix:/run/a%20b/jupyter.sock",
		"unix:///run/jupyter.sock?token=" + token:                  "unix:/run/jupyter.sock",
	} {
		a, err := notebook.Parse(text)
		if err != nil || a.String() != want || a.Token != token {
			t.Errorf("%q: %q %q, %v; want %q", text, a, a.Token, err, want)
			continue
		}
		again, err := notebook.Parse(a.Full())
		if err != nil || again.URL != a.URL || again.Token != token {
			t.Errorf("%q: %q is read as %+v, %v", text, a.Full(), again, err)
		}
	}
	for text, want := range map[string]string{
		"":                                    "is not a Jupyter URL",
		"nb-1":                                "is not a Jupyter URL",
		"http://127.0.0.1:8888/":              "has no token",
		"http://127.0.0.1:8888/?token=":       "has no token",
		"ftp://h/?token=" + token:             "is not a Jupyter URL",
		"http:///?token=" + token:             "names no host",
		"http://u:p@h/?token=" + token:        "has a user",
		"unix:relative?token=" + token:        "begins with one slash",
		"unix://host/path?token=" + token:     "begins with one slash",
		"http://h/?token=" + token + "%0A":    "characters that no token has",
		"http://h:port/?token=" + token:       "cannot be read",
		"http://h/?token=" + token + "&a=%zz": "cannot be read",
	} {
		_, err := notebook.Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%q: %v; want %q and not the token", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"http://h:1/a/lab?token=t", "unix:/p?token=t", "://", "http://[::1%25z]/?token=x", "unix:?token=a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := notebook.Parse(text)
		if err != nil {
			return
		}
		again, err := notebook.Parse(a.Full())
		if err != nil || again.Full() != a.Full() {
			t.Errorf("%q: %q is read as %q, %v", text, a.Full(), again.Full(), err)
		}
		if strings.Contains(a.String(), "token=") && !strings.Contains(strings.SplitN(text, "?", 2)[0], "token=") {
			t.Errorf("%q: the token is in %q", text, a)
		}
	})
}
