# gVisor as an isolation: what scripts/setup built does all that bubblewrap promises,
# for root and for an ordinary user, and what only it can. `make test` leaves these
# tests out, because building runsc takes minutes.
cd "$TOP"
[[ $("$TOP"/bin/runsc --version) == "runsc version"* ]]

# The home of this script is empty: what Go has compiled is not to be compiled again.
real=$(getent passwd "$(id -u)" | cut -d: -f6)
GOMODCACHE=$(HOME=$real go env GOMODCACHE) GOCACHE=$(HOME=$real go env GOCACHE)
export GOMODCACHE GOCACHE
SEER_TEST_GVISOR=1 go test -race -timeout 15m -run 'TestGVisor|TestAsOrdinaryUser|TestImage|TestNetwork|TestProgramThatEndsAtOnce|/^gvisor$' ./engine/isolation ./engine/machine/local
SEER_TEST_BIN=$TOP/bin go test -timeout 15m -run TestGVisor ./examples/session
