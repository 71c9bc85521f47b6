# SPDX-License-Identifier: MIT
# package: sqlite3
# needs: sqlite3
# records: sqlite3
sqlite3 base.db <<'END'
pragma journal_mode = wal;
create table t(a integer primary key, b text);
with recursive n(x) as (select 1 union all select x + 1 from n where x < 100000) insert into t select x, hex(x * 7919) from n;
create index i on t(b);
select count(*), sum(length(b)), max(b) from t;
begin; delete from t where a % 3 = 0; rollback;
delete from t where a % 5 = 0; vacuum; pragma integrity_check; select count(*) from t;
END
sqlite3 base.db .dump | sha256sum
sqlite3 base.db 'select nothing from t' || echo "status $?"
