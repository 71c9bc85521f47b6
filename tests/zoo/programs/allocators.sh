# SPDX-License-Identifier: MIT
# package: libjemalloc2 libtcmalloc-minimal4 libmimalloc2.0 gcc g++
# needs: g++ /usr/lib/*/libjemalloc.so.2 /usr/lib/*/libtcmalloc_minimal.so.4 /usr/lib/*/libmimalloc.so.2*
# records: a python3
cat >a.cpp <<'END'
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>
int main() {
    std::vector<std::thread> threads;
    size_t total[8] = {};
    for (int n = 0; n < 8; n++)
        threads.emplace_back([n, &total] {
            std::vector<std::string> all;
            for (int i = 0; i < 20000; i++) {
                all.push_back(std::string(i % 300, 'a' + n));
                if (i % 3 == 0) all[i / 2].clear(), all[i / 2].shrink_to_fit();
            }
            for (auto &s : all) total[n] += s.size();
        });
    for (auto &t : threads) t.join();
    for (size_t t : total) printf("%zu\n", t);
    void *p = nullptr;
    printf("%d %d\n", posix_memalign(&p, 4096, 100), (int)((size_t)p % 4096));
    free(p);
    char *q = (char *)aligned_alloc(64, 128);
    strcpy(q, "kept");
    q = (char *)realloc(q, 1 << 20);
    puts(q);
    free(q);
    p = calloc(1000, 1000);
    printf("%d\n", ((char *)p)[999999]);
    free(p);
}
END
g++ -O1 -pthread -o a a.cpp
for library in /usr/lib/*/libjemalloc.so.2 /usr/lib/*/libtcmalloc_minimal.so.4 /usr/lib/*/libmimalloc.so.2; do
    for order in "$LD_PRELOAD:$library" "$library:$LD_PRELOAD" "$LD_PRELOAD:${AGENT_NEW-}:$library"; do
        [ "$LD_PRELOAD" ] || order=$library
        echo "${library##*/}"
        LD_PRELOAD=$order ./a; echo "$?"
        LD_PRELOAD=$order python3 -c 'import json, subprocess, threading
t = [threading.Thread(target=lambda: [json.dumps([i] * 1000) for i in range(300)]) for _ in range(4)]
[x.start() for x in t]; [x.join() for x in t]
print(subprocess.run(["sh", "-c", "echo a; exit 3"], capture_output=True))'
    done
done
