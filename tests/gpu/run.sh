#!/usr/bin/env bash
# The GPU half of the test suite. Runs in an unpacked bundle (./dev bundle), where it is called `run`,
# on a machine that has a GPU, its driver and NVRTC, and nothing else of ours.
#
#   ./run             tests, then every spec at its reference shape against the float64 evaluator
#   ./run sanitize    every spec at its reference shape under compute-sanitizer
#   ./run call_path   how long the host is busy with a call, beside PyTorch's; arguments as
#                     bench/call_path.py takes them
#   ./run cliffs      every spec beside its roofline; arguments as bench/cliffs.py takes them
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# memcheck: accesses out of bounds; racecheck: hazards in shared memory; synccheck: barriers.
sanitize() {
  local tool
  for tool in memcheck racecheck synccheck; do
    compute-sanitizer --tool "$tool" --error-exitcode 1 \
      bin/attnc check kernels_spec/*.json --target native
  done
}

test_all() {
  local test
  export ATTNC_BINARY=$PWD/bin/attnc ATTNC_LAUNCH_PTX=$PWD/bin/launch_ptx
  export ATTNC_FAKE_DRIVER=$PWD/lib/fake_driver
  bin/attnc doctor
  for test in bin/*_test; do
    echo "== $test"
    "$test" --gtest_brief=1
  done
  bin/attnc check kernels_spec/*.json --target native
}

case ${1:-test} in
  test) test_all ;;
  sanitize) sanitize ;;
  cliffs) exec python3 bench/cliffs.py "${@:2}" ;;
  call_path) exec python3 bench/call_path.py "${@:2}" ;;
  *) sed -n '2,9s/^# \{0,1\}//p' "$(basename "$0")" >&2; exit 2 ;;
esac
