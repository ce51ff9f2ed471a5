#!/usr/bin/env bash
# The demo of docs/service.md: a process without NVRTC compiles through attncd; attncd ends; another
# process, with nothing on its disk, gets the same program out of Redis.
#
# usage: service_demo.sh [BIN_DIR]
set -euo pipefail
PATH=$(realpath "${1:-build/bin}"):$PATH
cd "$(mktemp -d)"
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$PWD"' EXIT

# What the fleet shares: a key, and for each kind of client a token.
openssl rand -hex 32 > fleet.key
attncd token fleet --scopes read,write,compile > made
sed -n 's/^token *//p' made > token
sed -n 's/^line *//p' made > tokens
chmod 600 fleet.key token tokens made
export ATTNC_REMOTE_KEY_FILE=$PWD/fleet.key ATTNC_REMOTE_TOKEN_FILE=$PWD/token

# The servers. What attncd compiles, it gives to Redis as well.
redis-server --port 0 --unixsocket "$PWD/redis.sock" --save '' > redis.log &
ATTNC_REMOTE=redis+unix:$PWD/redis.sock attncd --listen "unix:$PWD/attncd.sock" \
  --key-file fleet.key --tokens tokens --cache-dir "$PWD/attncd" 2> attncd.log &
attncd=$!
until [[ -S attncd.sock && -S redis.sock ]]; do sleep 0.1; done

# A machine without NVRTC.
export ATTNC_NVRTC=/none
ATTNC_REMOTE=unix:$PWD/attncd.sock ATTNC_CACHE_DIR=$PWD/first \
  attnc compile causal --target sm_90a -o first.program --json | grep '"tier"'
curl -s --unix-socket attncd.sock -H "Authorization: Bearer $(cat token)" \
  http://localhost/metrics | grep '^attncd_compile_jobs_total.*compiler'

# attncd ends, and a third process starts with nothing.
kill -TERM "$attncd"
wait "$attncd"
ATTNC_REMOTE=redis+unix:$PWD/redis.sock ATTNC_CACHE_DIR=$PWD/third \
  attnc compile causal --target sm_90a -o third.program --json | grep '"tier"'
cmp first.program third.program && echo "the same program"
