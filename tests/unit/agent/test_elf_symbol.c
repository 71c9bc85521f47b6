/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "elf_symbol.h"
#include "host.h"

static struct link_map *libc;

static void open_libc(void)
{
    libc = dlopen("libc.so.6", RTLD_LAZY);
    ck_assert_ptr_nonnull(libc);
}

START_TEST(functions_and_variables_are_where_dlsym_finds_them)
{
    static const char *const names[] = {
        "malloc",         "free",   "getenv",  "qsort",   "printf",          "fopen",
        "pthread_create", "dlsym",  "environ", "optarg",  "stdout",          "exit",
        "fork",           "setenv", "getpid",  "sysconf", "__errno_location"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        uintptr_t address = 0;
        size_t size = 0;
        ck_assert_msg(tp_elf_symbol(libc, names[i], &address, &size), "%s", names[i]);
        ck_assert_msg((void *)address == dlsym(libc, names[i]), "%s", names[i]);
        ck_assert_msg(size > 0, "%s", names[i]);
    }
}
END_TEST

START_TEST(what_is_not_there_is_not_found)
{
    for (unsigned i = 0; i < 10000; i++) {
        uintptr_t address = 7;
        char name[32];
        snprintf(name, sizeof(name), "not_there_%u", i);
        ck_assert(!tp_elf_symbol(libc, name, &address, NULL));
        ck_assert_uint_eq(address, 7);
    }
}
END_TEST

START_TEST(what_an_object_only_needs_is_not_its_own)
{
    struct link_map *program = dlopen(NULL, RTLD_LAZY);
    uintptr_t address;

    ck_assert_ptr_nonnull(program);
    ck_assert(!tp_elf_symbol(program, "qsort", &address, NULL));
    ck_assert(!tp_elf_symbol(program, "dlopen", &address, NULL));
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("elf_symbol");

    tcase_add_checked_fixture(tests, open_libc, NULL);
    tcase_add_test(tests, functions_and_variables_are_where_dlsym_finds_them);
    tcase_add_test(tests, what_is_not_there_is_not_found);
    tcase_add_test(tests, what_an_object_only_needs_is_not_its_own);
    return host_run(tests, "elf_symbol");
}
