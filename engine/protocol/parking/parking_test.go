package parking

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
)

func TestSealed(t *testing.T) {
	key, renewal := NewKey(), []byte(`{"copy":true}`)
	sealed := Seal(key, "id", renewal)
	if got, ok := Open(key, "id", sealed); !ok || string(got) != string(renewal) {
		t.Errorf("%q %v", got, ok)
	}
	for name, refused := range map[string]bool{
		"another key":     second(Open(NewKey(), "id", sealed)),
		"no key":          second(Open("", "id", Seal("", "id", renewal))),
		"another parking": second(Open(key, "other", sealed)),
		"another renewal": second(Open(key, "id", append(sealed, ' '))),
		"no proof":        second(Open(key, "id", renewal)),
		"a proof of a socket": second(Open(key, "id",
			append([]byte(Answer(key, "id", Question{Nonce: string(renewal)}).Proof+"\n"), renewal...))),
	} {
		if refused {
			t.Errorf("%s is believed", name)
		}
	}
}

func second(_ []byte, ok bool) bool { return ok }

// A program that knows all but the key cannot prove itself, nor repeat a proof.
func TestAsk(t *testing.T) {
	l := testkit.UnixSocket(t)
	path, key := l.Addr().String(), NewKey()
	var answer func(Question) Proof
	testkit.ServeHTTP(t, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("a token was sent")
		}
		var q Question
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		if !Asked(key, "id", q) || Asked(NewKey(), "id", q) || Asked(key, "other", q) {
			t.Error("the question is not that of whoever knows the key, or anybody's")
		}
		_ = json.NewEncoder(w).Encode(answer(q))
	}))
	var old Proof
	answer = func(q Question) Proof { old = Answer(key, "id", q); return old }
	if err := Ask(t.Context(), path, key, "id"); err != nil {
		t.Error(err)
	}
	for name, forged := range map[string]func(Question) Proof{
		"an earlier proof": func(Question) Proof { return old },
		"another key":      func(q Question) Proof { return Answer(NewKey(), "id", q) },
		"another parking":  func(q Question) Proof { return Answer(key, "other", q) },
	} {
		answer = forged
		if err := Ask(t.Context(), path, key, "id"); !errors.Is(err, ErrProof) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
