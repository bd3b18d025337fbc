# gVisor as an isolation: what scripts/setup built does all that bubblewrap promises,
# for root and for an ordinary user, and what only it can. `make test` leaves these
# tests out, because building runsc takes minutes.
trap '"$SEER" down --all >/dev/null 2>&1' EXIT
[[ $("$TOP"/bin/runsc --version) == "runsc version"* ]]

# A system that a sandbox has changed is saved, and another one starts from it.
printf 'name: made\nsandbox: {timeout: 10m, isolation: gvisor, image: {commands: ["echo hello > /etc/é"]}}\n' >made.yaml
"$SEER" up --yes made.yaml --name made -q
saved=$("$SEER" snapshot made)
"$SEER" down made
printf 'name: again\nsandbox: {timeout: 10m, isolation: gvisor, image: {snapshot: "%s"}}\n' "$saved" >again.yaml
"$SEER" plan again.yaml
"$SEER" up --yes again.yaml --name again -q
[ "$("$SEER" exec again -- cat /etc/é)" = hello ]
"$SEER" down again

cd "$TOP"
# The home of this script is empty: what Go has compiled is not to be compiled again.
real=$(getent passwd "$(id -u)" | cut -d: -f6)
GOMODCACHE=$(HOME=$real go env GOMODCACHE) GOCACHE=$(HOME=$real go env GOCACHE)
export GOMODCACHE GOCACHE
CGO_ENABLED='' SEER_TEST_GVISOR=1 go test -race -timeout 15m -run 'TestGVisor|TestAsOrdinaryUser|TestAttacks|TestImage|TestNetwork|TestProgramThatEndsAtOnce|/^gvisor$' ./engine/isolation/... ./engine/machine/local
SEER_TEST_GVISOR=1 go test -timeout 15m -run 'TestAttacks|TestArguments|TestAsOrdinaryUser|TestGVisor' ./engine/runtime/loader ./engine/machine/local/watchdog
SEER_TEST_GVISOR=1 go test -timeout 15m -run 'TestGVisor|TestAttacksOnOtherUsersBehalf' ./engine/run
SEER_TEST_BIN=$TOP/bin go test -timeout 15m -run TestGVisor ./examples/session
SEER_TEST_GVISOR=1 SEER_TEST_BIN=$TOP/bin go test -timeout 15m -run 'TestAttacksSnapshots|TestAttacksHidden/^gvisor$' ./engine
