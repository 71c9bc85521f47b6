# SPDX-License-Identifier: MIT
"""symbols.py LIBRARY MAP AGENT_OBJECTS RUNTIME_OBJECTS: what the agent exports and what it calls.

Exports are those of the version script. Calls are looked up per object file, since the shared
object defines malloc itself and hides who calls it.
"""

import fnmatch
import functools
import glob
import os
import re
import subprocess
import sys

import lint

# Not for our own code: recursion, locks of the host, its streams, its end, its locale.
FORBIDDEN = {
    "allocates through the hooked family": """
        malloc free calloc realloc reallocarray memalign posix_memalign aligned_alloc valloc
        pvalloc strdup strndup asprintf vasprintf getline getdelim open_memstream qsort
        opendir realpath backtrace backtrace_symbols tmpfile glob regcomp
    """,
    "formats or prints through stdio": """
        printf fprintf sprintf snprintf vprintf vfprintf vsprintf vsnprintf dprintf puts fputs
        putchar fputc fwrite fopen fdopen fread fclose fflush stdout stderr stdin perror
        syslog sscanf fscanf scanf __printf_chk __fprintf_chk __sprintf_chk __snprintf_chk
        __vfprintf_chk __vsnprintf_chk __vsprintf_chk __dprintf_chk __vasprintf_chk
        __asprintf_chk
    """,
    "ends the program": """
        exit abort quick_exit __assert_fail __assert raise kill atexit on_exit __cxa_atexit
        longjmp
    """,
    "starts a process or changes signals": """
        fork vfork system popen posix_spawn execve execv execl execlp execvp execvpe waitpid
        wait signal sigaction sigprocmask pthread_sigmask setitimer timer_create
    """,
    "waits on a lock or a thread": """
        pthread_mutex_lock pthread_rwlock_rdlock pthread_rwlock_wrlock pthread_cond_wait
        pthread_join pthread_key_create pthread_setspecific sem_wait mtx_lock pthread_once
        call_once
    """,
    "reads the locale or the network": """
        setlocale localtime localtime_r gmtime strftime strtod atof getaddrinfo gethostbyname
        getpwuid socket connect iconv_open
    """,
    "changes lookup or the process at large": """
        dlopen dlmopen dlclose dl_iterate_phdr setuid chdir umask setrlimit closefrom unsetenv
        clearenv putenv
    """,
    "reaches thread-local data by a call": """
        __tls_get_addr
    """,
}
# Object name's part -> symbols that it may use, and why.
ALLOWED = [
    ("recording.c", r"putenv", "in the constructor, of memory that stays and may still change"),
    ("self.c", r"realpath", "in the constructor, into its own buffer"),
    ("recording.c", r"putenv", "in the constructor, a text of ours that may change later"),
    ("malloc_malloc.c", r"strdup", "asks whether libc's own calls reach us"),
    ("torch", r"dlopen|dlclose|dl_iterate_phdr", "loads the observer"),
    ("mapped.c", r"dl_iterate_phdr", "asks which libraries are mapped"),
    ("cuda_cuda.c", r"atexit", "the last flush, before the driver's own handlers"),
    ("cuda", r"dlopen|dl_iterate_phdr", "finds libcupti and the caller's runtime at run time"),
    ("python", r"dlopen", "finds libpython's functions"),
]
VERSION = re.compile(r"@.*$")


@functools.lru_cache(maxsize=None)
def undefined(path):
    out = subprocess.run(
        ["nm", "--undefined-only", path], capture_output=True, text=True, check=True
    ).stdout
    return {
        VERSION.sub("", line.split()[-1])
        for line in out.splitlines()
        if line.strip() and not line.endswith(":")
    }


def allowed(name, symbol):
    return any(part in name and re.fullmatch(symbols, symbol) for part, symbols, _ in ALLOWED)


def defined(path):
    out = subprocess.run(
        ["nm", "--defined-only", path], capture_output=True, text=True, check=True
    ).stdout
    return {
        line.split()[-1]
        for line in out.splitlines()
        if line.split()[-2:-1] and line.split()[-2] in "TtDdBbRrVW"
    }


def linked_objects(library, folders):
    """The object files in the library: of the runtime's archive the linker takes what is needed."""
    inside = defined(library)
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(folder, "*.o"))):
            globals_ = {name for name in defined(path) if name.startswith("tp_")}
            if "libtpagent" in folder or globals_ & inside:
                yield path


def calls(objects, words):
    banned = set(words.split())
    for path in objects:
        name = os.path.basename(path)[:-2]
        for symbol in sorted(undefined(path) & banned):
            if not allowed(name, symbol):
                yield f"{name}: calls {symbol}"


def map_patterns(path):
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
    return re.findall(r"[\w*?]+", text[text.index("global:") + 7 : text.index("local:")])


def export_problems(library, path):
    out = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    exported = {VERSION.sub("", line.split()[-1]) for line in out.splitlines()}
    patterns = map_patterns(path)
    for symbol in sorted(exported):
        if not any(fnmatch.fnmatchcase(symbol, pattern) for pattern in patterns):
            yield f"{symbol} is exported and not in {os.path.basename(path)}"
    for pattern in patterns:
        if not fnmatch.filter(exported, pattern):
            yield f"{pattern} is in {os.path.basename(path)} and not exported"


def needed_problems(library):
    out = subprocess.run(
        ["readelf", "-d", library], capture_output=True, text=True, check=True
    ).stdout
    for name in re.findall(r"NEEDED.*\[(.*)\]", out):
        if not re.match(r"(libc|libm|libdl|libpthread|ld-linux.*)\.so", name):
            yield f"the agent brings {name} into every process"
    if "TEXTREL" in out:
        yield "the agent has text relocations"


library, version_script, *folders = sys.argv[1:]
lint.check("the agent exports what tpagent.map lists", export_problems(library, version_script))
lint.check("the agent needs nothing but libc", needed_problems(library))
objects = list(linked_objects(library, folders))
lint.check("the objects of the agent were found", [] if len(objects) > 10 else [f"only {objects}"])
for reason, words in FORBIDDEN.items():
    lint.check(f"nothing in the agent {reason}", calls(objects, words))
lint.done()
