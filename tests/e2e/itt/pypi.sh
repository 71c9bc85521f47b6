# SPDX-License-Identifier: MIT
# The real static stub, as it is inside PyPI's ittapi.
for python in "$PYTHON" ${TEST_VENV:+"$TEST_VENV/bin/python"}; do
    "$python" -c 'import ittapi' 2>/dev/null && found=$python
done
[ "${found:-}" ] || skip "no Python with ittapi (-Dtest_venv=DIR)"
cat >program.py <<'END'
import ittapi
with ittapi.task("outer", domain="py"):
    for i in range(2):
        with ittapi.task("inner", domain="py"):
            pass
with ittapi.task("overlapped", overlapped=True, domain="py"):
    pass
event = ittapi.event("an event")
event.begin()
event.end()
ittapi.thread_set_name("python's main")
print("done")
END
agent "$found" program.py || exit
dump | sed 's/ id=[0-9]*//'
grep -h '"t":"thread"' "$TPAGENT_OUT"/*/*/*/meta.jsonl | sed 's/"tid":[0-9]*/"tid":N/'
