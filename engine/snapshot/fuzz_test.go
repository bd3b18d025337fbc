package snapshot_test

import (
	"bytes"
	"testing"

	"github.com/seer-engine/seer/engine/snapshot"
)

// FuzzSave saves whatever comes: what is accepted can be given out again and saved as it
// is, with nothing new in it.
func FuzzSave(f *testing.F) {
	f.Add(archive(f, dir("d"), file("d/f", "1"), link("l", "d"), hard("h", "d/f"), file("d/.wh.x", "")))
	f.Add(archive(f, special("w", 3+'0', 0), hard("v", "w"), file("latin\xe9", "x")))
	f.Add(archive(f, file("../x", "1")))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newStore(t)
		one, err := s.Save(t.Context(), meta("one"), []snapshot.Source{source("workspace", data)})
		if err != nil {
			if got := filesIn(t, s); got != "names 0 blobs 0 tmp 0" {
				t.Error(got)
			}
			return
		}
		two, err := s.Save(t.Context(), meta("two"), []snapshot.Source{{Name: "workspace", Open: again(s)}})
		if err != nil {
			t.Fatal(err)
		}
		if tree := two.Trees[0]; tree.New != 0 || tree.Entries != one.Trees[0].Entries || tree.Bytes != one.Trees[0].Bytes {
			t.Errorf("once more it is %+v, and was %+v", tree, one.Trees[0])
		}
	})
}

// FuzzImport takes in whatever comes: what is accepted is as it should be, or says that
// it is not.
func FuzzImport(f *testing.F) {
	s := newStore(f)
	save(f, s, "x", dir("d"), file("d/f", "1"))
	f.Add(exported(f, s, "x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newStore(t)
		if _, err := s.Import(t.Context(), bytes.NewReader(data), "x"); err != nil {
			if got := filesIn(t, s); got != "names 0 blobs 0 tmp 0" {
				t.Error(got)
			}
			return
		}
		_ = s.Verify(t.Context(), "x") // it may be damaged, and must end
		if err := s.Remove(t.Context(), "x"); err != nil {
			t.Error(err)
		}
	})
}
