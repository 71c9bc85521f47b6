# SPDX-License-Identifier: MIT
# package: gcc g++ make libc6-dev
# needs: gcc g++ make
# records: make gcc cc1 as collect2 ld ar
cat >main.c <<'END'
#include <stdio.h>
int triple(int);
int main(void) { printf("%d\n", triple(14)); return 3; }
END
echo 'int triple(int x) { return 3 * x; }' >part.c
cat >long.cpp <<'END'
#include <iostream>
#include <map>
#include <regex>
#include <string>
int main() {
    std::map<std::string, int> m;
    std::regex word("[a-z]+");
    std::string s = "the cat and the dog and the fox";
    for (std::sregex_iterator i(s.begin(), s.end(), word), e; i != e; ++i) m[i->str()]++;
    for (auto &p : m) std::cout << p.first << p.second << '\n';
    try { throw std::runtime_error("thrown"); } catch (std::exception &e) { std::cout << e.what() << '\n'; }
}
END
printf 'all: main long\nmain: main.o libpart.a\n\tgcc -o $@ $^\nlibpart.a: part.o\n\tar rcD $@ $^\nlong: long.cpp\n\tg++ -O2 -flto -o $@ $^\n' >Makefile
make -j3 -Otarget 2>&1 | sort
./main || echo "status $?"
./long
sha256sum main long libpart.a
echo 'int x = ;' >bad.c
gcc -c bad.c || echo "status $?"
