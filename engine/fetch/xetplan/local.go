package xetplan

import (
	"errors"
	"io"
	"os"

	"github.com/seer-engine/seer/engine/transfer"
	"github.com/seer-engine/seer/engine/transfer/xet"
)

// run is a term of a file on this computer.
type run struct {
	first int     // number of its first chunk
	at    []int64 // where each chunk begins in the file; the last one is the end
}

// Copies finds the terms of rec that a file on this computer has, given how that one is put
// together. Two terms with the same chunks of one xorb have the same bytes, but where a
// chunk begins is not in a reconstruction: the file is cut into its chunks again, which
// reads the terms of xorbs that both files share. A term counts only if the file has all of
// its chunks.
func Copies(rec, have *xet.Reconstruction, path string) ([]transfer.Copy, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	wanted := map[xet.Hash]bool{}
	for _, t := range rec.Terms {
		wanted[t.Xorb] = true
	}
	runs := map[xet.Hash][]run{}
	var at int64
	for _, t := range have.Terms {
		if wanted[t.Xorb] {
			r, err := cut(f, t, at)
			if err != nil {
				return nil, err
			}
			if r != nil {
				runs[t.Xorb] = append(runs[t.Xorb], *r)
			}
		}
		at += t.Length
	}
	var all []transfer.Copy
	at = 0
	for _, t := range rec.Terms {
		all = append(all, copiesOf(t, runs[t.Xorb], path, at)...)
		at += t.Length
	}
	return all, nil
}

// cut finds the chunks of a term in a file. It returns nothing if they are not those of the
// term.
func cut(f *os.File, t xet.Term, from int64) (*run, error) {
	r := &run{first: t.Chunks.Start, at: []int64{from}}
	errMany := errors.New("more chunks than the term has")
	err := xet.Split(io.NewSectionReader(f, from, t.Length), func(raw []byte) error {
		if len(r.at) > t.Chunks.Len() {
			return errMany
		}
		r.at = append(r.at, r.at[len(r.at)-1]+int64(len(raw)))
		return nil
	})
	switch n := len(r.at) - 1; {
	case errors.Is(err, errMany):
		return nil, nil
	case err != nil:
		return nil, err
	case n != t.Chunks.Len() || r.at[n] != from+t.Length:
		return nil, nil
	}
	return r, nil
}

// copiesOf are the pieces of a term, which begins at that place of the wanted file.
func copiesOf(t xet.Term, runs []run, path string, at int64) []transfer.Copy {
	var all []transfer.Copy
	end := at + t.Length
	for chunk := t.Chunks.Start; chunk < t.Chunks.End; {
		var found *run
		for i, r := range runs {
			if r.first <= chunk && chunk < r.first+len(r.at)-1 {
				found = &runs[i]
				break
			}
		}
		if found == nil {
			return nil
		}
		until := min(t.Chunks.End, found.first+len(found.at)-1)
		from, to := found.at[chunk-found.first], found.at[until-found.first]
		all = append(all, transfer.Copy{Path: path, Offset: from, At: at, Length: to - from})
		at, chunk = at+to-from, until
	}
	if at != end { // one of the reconstructions is wrong
		return nil
	}
	return all
}

// Cost is how many bytes have to be transferred for a file, with the copies: all signed
// ranges of each address that has something that is missing.
func Cost(rec *xet.Reconstruction, copies []transfer.Copy) (n int64) {
	local := map[int64]int64{} // where copies begin, and their lengths
	for _, c := range copies {
		local[c.At] += c.Length
	}
	asked := map[int]bool{}
	var at int64
	for _, t := range rec.Terms {
		have := at
		for have < at+t.Length && local[have] > 0 {
			have += local[have]
		}
		if have < at+t.Length && !asked[t.Fetch] {
			asked[t.Fetch] = true
			for _, r := range rec.Fetches[t.Fetch].Ranges {
				n += r.Bytes.Len()
			}
		}
		at += t.Length
	}
	return n
}
