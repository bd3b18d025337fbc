# Files of 2 GiB: into a sandbox by seer cp and by files: of an experiment, and out of it, by
# name, as a folder and through a pipe. seer does not hold them in memory (the
# runtime neither: TestFileLarge), and who stops in the middle leaves no part of them. They are sparse here; in the
# sandbox they take 2 GiB of the disk, one at a time.
size=$((2 << 30))
most=$((200 << 10)) # KiB that seer may have had at most
mkdir -p data "got é"
truncate -s $size data/zeros
printf end >>data/zeros
sum=$(sha256sum <data/zeros)

# peak PROGRAM…: runs it and fails where it, or what it has waited for, had too much memory.
peak() {
  python3 - "$most" "$@" <<'P'
import resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print("%d KiB: %s" % (used, " ".join(sys.argv[2:])))
sys.exit(code or ("it took more than %s KiB" % sys.argv[1] if used > int(sys.argv[1]) else 0))
P
}

copying=
cleanup() {
  [ -z "$copying" ] || { kill "$copying" && wait "$copying"; } || true
  "$SEER" down lab 2>down.err || grep -q 'no sandbox' down.err || cat down.err
} >&2
trap cleanup EXIT

printf 'name: files\nsandbox: {timeout: 3h}\n' >exp.yaml
"$SEER" up --yes exp.yaml --name lab -q
in_lab() { [ "$("$SEER" exec lab -- sh -c 'sha256sum <"$0"' "$1")" = "$sum" ]; }

peak "$SEER" cp data/zeros lab:one
in_lab one
peak "$SEER" cp lab:one "got é/one"
[ "$(sha256sum <"got é/one")" = "$sum" ]
rm "got é/one"
[ "$("$SEER" cp lab:one - | sha256sum)" = "$sum" ]
"$SEER" exec lab -- rm one

peak "$SEER" cp -r data lab:tree
in_lab tree/zeros
peak "$SEER" cp -r lab:tree "got é"
[ "$(sha256sum <"got é/tree/zeros")" = "$sum" ]
rm -r "got é/tree"
"$SEER" exec lab -- rm -r tree

# Stopped and killed in the middle.
for signal in INT KILL; do
  "$SEER" cp data/zeros lab:half &
  copying=$!
  until "$SEER" exec lab -- ls -A | grep '^\.seer-' || ! kill -0 $copying; do :; done
  kill -$signal $copying || true # it may have been faster
  code=0
  wait $copying || code=$?
  copying=
  case $signal/$code in
  */0) in_lab half ;;
  INT/130 | KILL/137) ;;
  *) echo "seer cp ended with $code after SIG$signal" >&2 && exit 1 ;;
  esac
  "$SEER" exec lab -- sh -c 'while ls -A | grep "^\.seer-"; do sleep 0.1; done'
  if "$SEER" exec lab -- test -e half; then # it was there just before the signal: whole
    in_lab half
    "$SEER" exec lab -- rm half
  fi
done
"$SEER" down lab

# With the experiment.
printf 'name: files\nsandbox: {timeout: 3h, local_files: [[data/zeros, /workspace/zeros]]}\n' >exp.yaml
peak "$SEER" up --yes exp.yaml --name lab -q
in_lab zeros
"$SEER" down lab
