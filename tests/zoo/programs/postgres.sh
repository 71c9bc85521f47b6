# SPDX-License-Identifier: MIT
# package: postgresql postgresql-contrib
# needs: /usr/lib/postgresql/*/bin/initdb
# user: postgres
# records: postgres pgbench psql initdb
bin=$(echo /usr/lib/postgresql/*/bin)
export PGHOST=$PWD PGUSER=boss
"$bin/initdb" -D d -U boss -A trust -N >/dev/null || exit 1
printf "listen_addresses = ''\nunix_socket_directories = '%s'\nfsync = off\njit = on\njit_above_cost = 0\n" "$PWD" >>d/postgresql.conf
"$bin/pg_ctl" -s -D d -l log -w start || { cat log; exit 1; }
sql() { "$bin/psql" -qAt postgres "$@"; }
"$bin/pgbench" -q -i -s 1 postgres 2>/dev/null
"$bin/pgbench" -n -c 4 -j 2 -t 50 postgres 2>&1 | grep -E 'actually|failed'
sql <<'END'
set max_parallel_workers_per_gather = 2; set min_parallel_table_scan_size = 0; set parallel_setup_cost = 0;
create table t as select g a, md5(g::text) b from generate_series(1, 50000) g; analyze t;
select count(*), sum(a), max(b) from t; create index on t(b); vacuum full t;
select count(*) from pgbench_history;
do $$ begin raise exception 'raised'; end $$;
END
sql -c 'select pg_backend_pid() > 0' -c 'select pg_terminate_backend(pg_backend_pid())' 2>&1 | grep -cE 'terminating|closed'
"$bin/pg_ctl" -s -D d -m fast stop; echo "$?"
grep -cE 'PANIC|crash|signal [0-9]' log
rm -rf d log .psql_history
