# Arguments: requirements. Answers with the folder and the search path of commands.
python=${SEER_BASE_PYTHON:-python3}
folder=${HOME:-/root}/.seer/python
if [ ! -x "$folder/bin/python" ] || ! "$folder/bin/python" -m pip --version >/dev/null 2>&1; then
  rm -rf "$folder"
  mkdir -p "${folder%/*}"
  "$python" -m venv --system-site-packages "$folder" ||
    { echo "a virtual environment cannot be made with $python; use an image whose Python has venv and pip (python:3.12, on Debian: python3-venv)"; exit 90; }
fi
"$folder/bin/python" -m pip install -- "$@" || exit 1
echo "seer-answer: $folder"
echo "seer-answer: $PATH"
