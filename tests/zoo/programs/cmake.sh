# SPDX-License-Identifier: MIT
# package: cmake ninja-build gcc
# needs: cmake ninja gcc
# records: cmake ninja
echo 'int main(void) { return 4; }' >a.c
printf 'cmake_minimum_required(VERSION 3.10)\nproject(p C)\nadd_executable(a a.c)\nenable_testing()\nadd_test(NAME t COMMAND sh -c "exit 0")\n' >CMakeLists.txt
cmake -G Ninja -B b . | sed -E 's/\([0-9.]+s\)//' && cmake --build b | tail -n 1
b/a; echo "$?"
(cd b && ctest 2>&1 | grep 'tests passed')
rm -rf b
