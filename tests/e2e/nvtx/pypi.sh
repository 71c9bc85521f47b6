# SPDX-License-Identifier: MIT
# PyPI's nvtx, which carries NVTX's headers in an extension of its own.
for python in "$PYTHON" ${TEST_VENV:+"$TEST_VENV/bin/python"}; do
    "$python" -c 'import nvtx' 2>/dev/null && found=$python
done
[ "${found:-}" ] || skip "no Python with nvtx (-Dtest_venv=DIR)"
cat >program.py <<'END'
import nvtx, threading
with nvtx.annotate("outer", domain="py", category="things", payload=3):
    with nvtx.annotate("inner \u00e9"):
        pass
nvtx.push_range("pushed", domain="py")
nvtx.pop_range(domain="py")
started = nvtx.start_range("started")
thread = threading.Thread(target=lambda: nvtx.end_range(started))
thread.start()
thread.join()
nvtx.mark("mark")
print("done")
END
agent "$found" program.py || exit
dump | sed 's/ color=[0-9]*//'
grep -h '"t":"category"' "$TPAGENT_OUT"/*/*/*/meta.jsonl
