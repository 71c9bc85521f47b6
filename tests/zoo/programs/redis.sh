# SPDX-License-Identifier: MIT
# package: redis-server redis-tools
# needs: redis-server redis-cli redis-benchmark
# records: redis-check-rdb redis-cli redis-benchmark
redis-server --port 0 --unixsocket "$PWD/s" --dir "$PWD" --daemonize yes --pidfile "$PWD/pid" --logfile "$PWD/log" \
    --io-threads 2 --appendonly yes >/dev/null
cli() { redis-cli -s s "$@"; }
for _ in $(seq 100); do [ "$(cli ping 2>/dev/null)" = PONG ] && break; sleep 0.1; done
redis-benchmark -s s -q -n 5000 -c 20 --threads 2 -t set,get,incr,lpush,lrange_100 2>&1 | tr '\r' '\n' |
    sed -n 's/: .* requests per second.*/ done/p' | sort -u
cli eval 'for i = 1, 10000 do redis.call("set", "k" .. i, i) end return redis.call("get", "k77")' 0
cli save; cli bgrewriteaof
while cli info persistence | grep -q 'aof_rewrite_in_progress:1'; do sleep 0.1; done
cli dbsize | sed 's/1000[0-9]/some/'
cli get counter:__rand_int__
cli shutdown nosave
while [ -e pid ]; do sleep 0.1; done
redis-check-rdb dump.rdb | grep -c 'RDB looks OK'
grep -ciE 'crash|bug report' log
rm -rf appendonlydir
