# profiles.sh: runs the four programs in $TOOLS/node_modules/.bin as their profiles say, each
# against the scripted model, without a network. Takes one to three minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
test=$(mktemp -d)
trap 'rm -rf "$test"' EXIT
go test -trimpath -c -o "$test/driver.test" ./engine/agent/driver
cd engine/agent/driver
export SEER_TEST_AGENTS=$TOOLS/node_modules/.bin
unshare --map-root-user --net sh -c 'ip link set lo up && exec "$@"' sh "$test/driver.test" -test.run TestRealPrograms -test.v "$@"
