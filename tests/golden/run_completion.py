#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The completions, loaded into the real bash and the real zsh. Prints TAP.
usage: run_completion.py TPREPORT"""

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.abspath(sys.argv[1])
# what is typed, and words that must be offered, and words that must not
CASES = [
    ("tpreport ke", ["kernels"], ["averages"]),
    ("tpreport --sor", ["--sort-by"], ["--format"]),
    ("tpreport --sort-by self_cpu_t", ["self_cpu_time_total"], ["count"]),
    ("tpreport stacks --format f", ["folded"], ["pprof"]),
    ("tpreport trace --style k", ["kineto"], ["list"]),
    ("tpreport stacks --metric dev", ["device"], ["cpu"]),
    ("tpreport --time-unit m", ["ms"], ["us"]),
]


def script(shell):
    return subprocess.run(
        [PROGRAM, "--print-completion", shell], capture_output=True, text=True, check=True
    ).stdout


def bash_offers(folder, line):
    words = line.split()
    ask = (
        "source completion.bash\n"
        f"COMP_WORDS=({' '.join(words)}) COMP_CWORD={len(words) - 1}\n"
        f"COMP_LINE='{line}' COMP_POINT={len(line)}\n"
        "compopt() { :; }\n_tpreport\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n"
    )
    (folder / "completion.bash").write_text(script("bash"))
    done = subprocess.run(
        ["bash", "--norc", "-c", ask], cwd=folder, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0 and not done.stderr, done
    return done.stdout.split()


def read_until(fd, mark, seconds):
    text, end = b"", time.monotonic() + seconds
    while mark not in text:
        left = end - time.monotonic()
        assert left > 0, ("nothing came", text[-400:])
        if select.select([fd], [], [], min(left, 0.2))[0]:
            text += os.read(fd, 65536)
    return text.decode(errors="replace")


def zsh_offers(folder, line):
    """Typed at its prompt: one word that fits is put in, several are listed."""
    (folder / "functions").mkdir(exist_ok=True)
    (folder / "functions" / "_tpreport").write_text(script("zsh"))
    (folder / "bin").mkdir(exist_ok=True)
    link = folder / "bin" / "tpreport"
    if not link.exists():
        link.symlink_to(PROGRAM)
    (folder / ".zshrc").write_text(
        "fpath=($PWD/functions $fpath)\nautoload -U compinit\ncompinit -u -D\n"
        "PS1='READY>'\nunsetopt zle_bracketed_paste 2>/dev/null\nunset zle_bracketed_paste\n"
    )
    pid, fd = pty.fork()
    if not pid:
        os.chdir(folder)
        env = {
            "ZDOTDIR": str(folder),
            "HOME": str(folder),
            "TERM": "dumb",
            "PATH": f"{folder}/bin:{os.environ['PATH']}",
        }
        os.execvpe("zsh", ["zsh", "-i"], env)
    try:
        read_until(fd, b"READY>", 30)
        os.write(fd, line.encode() + b"\t" + b" MARK")
        return re.split(r"[\s=\b]+", read_until(fd, b"MARK", 30))
    finally:
        os.kill(pid, 9)
        os.close(fd)
        os.waitpid(pid, 0)


def main():
    number = failed = 0
    for shell, offers in (("bash", bash_offers), ("zsh", zsh_offers)):
        for line, wanted, unwanted in CASES:
            number += 1
            name = f"{shell}: {line}"
            if not shutil.which(shell):
                print(f"ok {number} - {name} # SKIP {shell} is not installed")
                continue
            with tempfile.TemporaryDirectory() as folder:
                try:
                    words = offers(pathlib.Path(folder), line)
                    for word in wanted:
                        assert word in words, (word, words)
                    for word in unwanted:
                        assert word not in words, (word, words)
                    print(f"ok {number} - {name}")
                except Exception as problem:
                    failed += 1
                    print(f"not ok {number} - {name}\n# {problem!r:.600}")
    print(f"1..{number}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
