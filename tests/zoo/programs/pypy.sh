# SPDX-License-Identifier: MIT
# package: pypy3
# needs: pypy3
# records: pypy3
cat >work.py <<'END'
import os, subprocess, threading, zlib, json
total = 0
for i in range(5000000):
    total += i * i % 7
print(total)
out = []
def work(n):
    out.append(sum(len(str(i)) for i in range(n)))
threads = [threading.Thread(target=work, args=(20000 * (n + 1),)) for n in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sorted(out), len(zlib.compress(b"a" * 1000000)))
print(subprocess.run(["sh", "-c", "exit 5"]).returncode)
pid = os.fork()
if not pid:
    print(json.dumps({str(i): [i] * 3 for i in range(100)})[-20:], flush=True)
    os._exit(0)
print(os.waitpid(pid, 0)[1])
END
pypy3 work.py
