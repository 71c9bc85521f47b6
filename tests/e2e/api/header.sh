# SPDX-License-Identifier: MIT
# The public header alone, as C99, C11 and C++11, by each compiler that is here, without a warning.
cat >use.c <<'END'
#include "tpagent.h"
int use(const int64_t *sizes);
int use(const int64_t *sizes)
{
    struct tpagent_attribute attribute = tpagent_shape("shape", sizes, 2);
    tpagent_begin_with("range", &attribute, 1);
    tpagent_add(tpagent_double("half", 0.5));
    tpagent_counter_double("loss", 0.5);
    tpagent_end();
    return tpagent_recording();
}
END
cp use.c use.cc
echo '#include "tpagent.h"' >alone.c
cp alone.c alone.cc
warnings="-Wall -Wextra -Wshadow -Wconversion -pedantic -Werror"
compile() {
    command -v "$1" >/dev/null || return 0
    for file in "$3" "$4"; do
        # shellcheck disable=SC2086 # the warnings are several words
        "$1" -std="$2" $warnings -O2 -c -I "$HEADERS" "$file" -o out.o || exit 1
    done
}
for std in c99 c11 gnu11; do
    compile gcc $std alone.c use.c
    compile clang $std alone.c use.c
    echo $std
done
for std in c++11 c++17; do
    compile g++ $std alone.cc use.cc
    compile clang++ $std alone.cc use.cc
    echo $std
done
