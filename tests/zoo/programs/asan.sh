# SPDX-License-Identifier: MIT
# package: gcc libc6-dev
# needs: gcc
# records: tsan ubsan
cat >a.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) { char *p = malloc(10); p[argc] = 1; printf("%d\n", p[1]); free(p); return 3; }
END
# Built by gcc the address sanitizer refuses to start behind any preloaded library, in one line.
gcc -fsanitize=address -o asan a.c
if [ "$LD_PRELOAD" ]; then
    ./asan 2>&1 | grep -c 'runtime does not come first in initial library list'
    ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 ./asan; echo "$?"
else
    echo 1
    ./asan; echo "$?"
fi
LD_PRELOAD=$(gcc -print-file-name=libasan.so):${LD_PRELOAD-} ./asan; echo "$?"
gcc -fsanitize=thread -o tsan a.c && ./tsan; echo "$?"
gcc -fsanitize=undefined -o ubsan a.c && ./ubsan; echo "$?"
if command -v clang >/dev/null; then clang -fsanitize=address -o clang_asan a.c && ./clang_asan; echo "$?"; fi
