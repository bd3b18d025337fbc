# Arguments: layers, the upper ones first. Gives the machine its own virtual environment and
# clones from the first. Answers as venv.py does.
layer=$1
folder=${HOME:-/root}/.seer/python
if [ -d "$layer/venv" ] && [ ! -x "$folder/bin/python" ]; then
  mkdir -p "${folder%/*}" && cp -a "$layer/venv" "$folder" || exit 1
fi
for repo in "$layer"/repos/*; do
  name=${repo##*/}
  [ ! -d "$repo" ] || [ -e "$name" ] || cp -a "$repo" "$name" || exit 1
done
[ -d "$layer/venv" ] || exit 0
search=
for layer; do
  search=$search$layer/python/bin:
done
echo "seer-answer: $folder"
echo "seer-answer: $search$PATH"
