package nearest

import "testing"

func TestOf(t *testing.T) {
	t.Parallel()
	list := []string{"context", "namespace", "queue"}
	for word, want := range map[string]string{
		"contxt": "; did you mean context?", "Name_Space": "; did you mean namespace?", "queu": "; did you mean queue?", "zzz": "", "": "",
	} {
		if got := Of(word, list); got != want {
			t.Errorf("%q: %q", word, got)
		}
	}
}
