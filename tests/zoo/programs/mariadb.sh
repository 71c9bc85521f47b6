# SPDX-License-Identifier: MIT
# package: mariadb-server
# needs: mariadbd mariadb-install-db mariadb
# records: mariadbd mariadb
as=--user=$(id -un)
mariadb-install-db --no-defaults "$as" --datadir="$PWD/d" --auth-root-authentication-method=normal --skip-test-db >/dev/null 2>&1 || exit 1
mariadbd --no-defaults "$as" --datadir="$PWD/d" --socket="$PWD/s" --skip-networking --pid-file="$PWD/pid" --log-error="$PWD/log" 2>/dev/null &
for _ in $(seq 100); do mariadb -S s -u root -e 'select 1' >/dev/null 2>&1 && break; sleep 0.1; done
mariadb -S s -u root <<'END'
create database z; use z; create table t(a int primary key, b varchar(40)) engine=innodb;
insert into t select seq, md5(seq) from seq_1_to_20000; select count(*), sum(a), max(b) from t;
start transaction; delete from t where a > 5; rollback; select count(*) from t; alter table t add index(b);
END
mariadb -S s -u root -e 'shutdown'
wait; echo "$?"
grep -ciE 'got signal|crashed' log*
rm -rf d log*
