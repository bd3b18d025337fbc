# Takes Seer's program from standard input, packed. Arguments: FOLDER SHA256
# Says: found PATH | fail WHY
umask 077
file=$1/seer-runtime-$2
part=$1/.part-$$
trap 'rm -f "$part"' EXIT
gzip -dc >"$part" || { echo "fail the program could not be written to $1: see the space and the quota there"; exit; }
if command -v sha256sum >/dev/null; then sum=$(sha256sum "$part"); else sum=$(shasum -a 256 "$part"); fi
[ "${sum%% *}" = "$2" ] || { echo "fail the program did not arrive as it was sent"; exit; }
chmod 700 "$part" && mv -f "$part" "$file" && echo "found $file"
