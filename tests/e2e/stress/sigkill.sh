# Killed at a random moment, with and without waiting: blocks and rings together have every call once, in order.
cat >kill.py <<'END'
import os, random, shutil, signal, struct, subprocess, sys, time

THREADS = 3
seed = int(os.environ.get("SEED", "0")) or int(time.time())
random.seed(seed)
bad = 0
for turn in range(20):
    wait = turn % 2 == 0
    environment = dict(os.environ, LD_PRELOAD=os.environ["AGENT"], **({"TPAGENT_WHEN_FULL": "wait"} if wait else {}))
    shutil.rmtree(os.environ["TPAGENT_OUT"])
    os.mkdir(os.environ["TPAGENT_OUT"])
    program = subprocess.Popen([os.environ["WORKLOADS"] + "/stress", str(THREADS), "1000000000", "calls"], env=environment)
    time.sleep(random.choice((0.02, 0.1, 0.3)) * (0.5 + random.random()))
    program.kill()
    program.wait()
    calls = sum(struct.unpack("3Q", open("calls", "rb").read(24).ljust(24, b"\0"))) if os.path.exists("calls") else 0
    os.path.exists("calls") and os.remove("calls")
    out = subprocess.run([os.environ["DUMP"], "--summary", os.environ["TPAGENT_OUT"]], capture_output=True, text=True)
    counts = dict((k, int(v)) for k, v in (w.split("=") for w in out.stdout.split() if "=" in w))
    if not counts and calls == 0:
        continue  # before anything had begun
    seen = counts["begins"] + counts["ends"] + counts["dropped"]
    wrong = [k for k in ("missing", "twice", "unmatched", "open_differs", "damaged") if counts[k]]
    if wrong or not 0 <= seen - calls <= THREADS or (wait and counts["dropped"]) or counts["open"] > 3 * THREADS + 0:
        print("turn", turn, "seed", seed, "calls", calls, "seen", seen, out.stdout, out.stderr)
        bad += 1
print(bad, "of 20 turns wrong")
END
export AGENT DUMP WORKLOADS
"$PYTHON" kill.py
