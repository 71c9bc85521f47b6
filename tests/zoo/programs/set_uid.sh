# SPDX-License-Identifier: MIT
# package: gcc libc6-dev util-linux
# needs: gcc setpriv
# records: bash
cat >a.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) { printf("%d %d %s\n", getuid() != 0, geteuid() == 0, getenv("LD_PRELOAD") ? "kept" : "cleaned"); return 3; }
END
gcc -o a a.c && [ "$(id -u)" = 0 ] || exit 0
chown root a && chmod 4755 a
setpriv --reuid 65534 --regid 65534 --clear-groups ./a 2>/dev/null | sed 's/kept\|cleaned/either/'; echo "${PIPESTATUS[0]}"
setpriv --reuid 65534 --regid 65534 --clear-groups bash -c './a >/dev/null; echo $?; id -u; ls a' \
    2> >(grep -v '^tpagent: not recording: .* belongs to another user$' >&2)
