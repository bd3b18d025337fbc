package acceptance

import (
	"strconv"
	"strings"
	"testing"
)

const diskTools = `
import os
runs = 0

@expose
def bump(text: str = "") -> int:
    global runs
    runs += 1
    return runs

@expose
def fills() -> str:
    global runs
    runs += 1
    with open("filled", "wb", buffering=0) as f:
        try:
            while True: f.write(bytes(4096))
        except OSError:
            pass
    return "y" * 100_000

@expose
def frees() -> str:
    os.unlink("filled")
    return "freed"
`

// TestJournalIsFull: what cannot be written down does not run, and says why; with room
// on the disk everything is as before.
func TestJournalIsFull(t *testing.T) {
	t.Parallel()
	for _, isolation := range isolations() {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("exp.yaml", "name: test\nsandbox: {timeout: 10m, isolation: "+isolation+"}\n")
			p.write("iface.py", diskTools)
			p.write("long.txt", strings.Repeat("z", 5000))
			p.write("lib.py", `
import sys, tools
for i in range(200):  # the last block of the journal's file may have room for some
    try:
        print("ran", tools.bump())
    except Exception as e:
        print(type(e).__name__, e.code, e)
        break
`)
			r := p.small(p.state(), "12m", `"$SEER" up exp.yaml --name lab -q && "$SEER" serve lab iface.py --name tools --out "$TMPDIR/out" -q && {
				"$SEER" call lab tools.bump
				"$SEER" call lab tools.fills -r | wc -c
				PYTHONPATH="$TMPDIR/out" /usr/bin/python3 -B lib.py
				"$SEER" call lab tools.bump text=@long.txt --detach; echo "detached $?"
				"$SEER" call lab tools.bump; echo "full $?"
				"$SEER" exec lab -- rm filled
				"$SEER" call lab tools.bump | sed 's/^/afterwards /'
				"$SEER" calls wait lab $("$SEER" call lab tools.bump --detach) | sed 's/^/detached afterwards /'
				"$SEER" down lab -q; rm -rf "$TMPDIR/out"; }`)
			p.check(r, 0, "100001\n", "Busy busy", "make room", "No space left on device", "detached 6", "full 6")
			runs := 2 + strings.Count(r.out, "ran ")
			for i, want := range []string{"afterwards " + strconv.Itoa(runs+1), "detached afterwards " + strconv.Itoa(runs+2)} {
				if !strings.Contains(r.out, want+"\n") {
					t.Errorf("%d: %q is missing in\n%s\n%s", i, want, r.out, r.err)
				}
			}
			p.nothingRuns()
		})
	}
}
