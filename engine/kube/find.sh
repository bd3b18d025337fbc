# Finds Seer's program in this pod, or says what to bring, behind engine/bring/choose.sh. Argument: FOLDER
# Says: found PATH | bring SYSTEM=FOLDER | fail WHY
dir=$1
file=$dir/seer-runtime-$digest
[ ! -x "$file" ] || { echo "found $file"; exit; }
for program in gzip sha256sum chmod mv; do
  command -v "$program" >/dev/null || { echo "fail the image has no $program; use one that has, such as python:3.12-slim"; exit; }
done
mkdir -p "$dir" 2>/dev/null && : >"$dir/.try$$" || { echo "fail $dir cannot be written to: mount an emptyDir there"; exit; }
rm -f "$dir/.try$$"
echo "bring $system=$dir"
