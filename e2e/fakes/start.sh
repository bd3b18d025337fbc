# Sourced by the scripts that use a fake service, each of which is a program in this folder's parent.

# start_fake PROGRAM ARGUMENT… builds and starts e2e/PROGRAM, sets $fake to its process, and exports the
# variables that it prints before an empty line. Its standard input is descriptor 9: it ends when nobody
# has that open any more. All that it prints is in the file answers.
start_fake() {
  local program=$1
  shift
  (cd "$TOP" && HOME=$(eval echo "~$(id -un)") go build -o "$E2E_WORK/fake" "./e2e/$program") # the home with Go's caches
  mkfifo requests
  "$E2E_WORK/fake" "$@" <requests >answers 2>fake.log &
  fake=$!
  exec 9>requests
  trap 'cat answers fake.log' ERR
  until grep -sq '^$' answers; do
    kill -0 "$fake" || { cat fake.log; exit 1; }
    sleep 0.05
  done
  sed '/^$/q' answers >variables
  set -a && . ./variables && set +a
}
