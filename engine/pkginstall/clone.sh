# Arguments: name, URL to fetch from, URL to remember, ref, commit.
name=$1 from=$2 url=$3 ref=$4 commit=$5
command -v git >/dev/null || { echo "there is no git in the sandbox; add git to sandbox.system_packages"; exit 90; }
[ ! -e "$name" ] || { echo "fatal: /workspace/$name is there already"; exit 1; }
# A configuration of our own: the folder of another user is read, and nobody's helper is run.
GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=$(mktemp) && export GIT_CONFIG_NOSYSTEM GIT_CONFIG_GLOBAL || exit 1
trap 'rm -f "$GIT_CONFIG_GLOBAL"' EXIT
git config --file "$GIT_CONFIG_GLOBAL" --add safe.directory '*'
git config --file "$GIT_CONFIG_GLOBAL" advice.detachedHead false
git clone -q --no-checkout -- "$from" "$name" && cd "$name" || exit 1
git cat-file -e "$commit^{commit}" 2>/dev/null || git fetch -q origin "$commit" || { [ -n "$ref" ] && git fetch -q origin "$ref"; } || exit 1
if [ -z "$ref" ]; then
  ref=$(git symbolic-ref --short HEAD) || ref=
fi
if [ -n "$ref" ] && git rev-parse -q --verify "refs/remotes/origin/$ref" >/dev/null; then
  git checkout -q -B "$ref" "$commit" && git branch -q --set-upstream-to "origin/$ref" || exit 1
else
  git checkout -q --detach "$commit" || exit 1
fi
git submodule --quiet update --init --recursive || exit 1
git remote set-url origin "$url"
