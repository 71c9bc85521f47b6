/* SPDX-License-Identifier: MIT */
/* Kernels by what a launch is given. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "intern.h"
#include "record.h"
#include "source/cuda/cuda.h"
#include "source/cuda/launches.h"

struct tp_cuda tp_cuda;

static uint32_t id_of(const char *name)
{
    return tp_intern(TP_NAME_SYMBOL, name, strlen(name));
}

static uint32_t known(const void *function)
{
    uint32_t id;

    return tp_cuda_kernel_name(function, &id) ? id : UINT32_MAX;
}

static char binaries[3], functions[64][16];

START_TEST(a_registered_function_has_its_name)
{
    tp_cuda_kernel_register(&binaries[0], functions[0], "_Z5firstv");
    tp_cuda_kernel_register(&binaries[0], functions[1], "_Z6secondv");
    ck_assert_uint_eq(known(functions[0]), id_of("_Z5firstv"));
    ck_assert_uint_eq(known(functions[1]), id_of("_Z6secondv"));
    ck_assert_uint_eq(known(functions[2]), UINT32_MAX);
}
END_TEST

START_TEST(a_binary_takes_its_names_with_it)
{
    char gone[] = "_Z4gonev";

    tp_cuda_kernel_register(&binaries[0], functions[0], gone);
    tp_cuda_kernel_register(&binaries[1], functions[1], "_Z5staysv");
    ck_assert_uint_eq(known(functions[0]), id_of("_Z4gonev"));
    tp_cuda_kernel_forget(&binaries[0]);
    memset(gone, 0, sizeof(gone));
    ck_assert_uint_eq(known(functions[0]), UINT32_MAX);
    ck_assert_uint_eq(known(functions[1]), id_of("_Z5staysv"));
    tp_cuda_kernel_register(&binaries[2], functions[0], "_Z5againv");
    ck_assert_uint_eq(known(functions[0]), id_of("_Z5againv"));
    tp_cuda_kernel_forget(&binaries[0]); /* nothing left */
    ck_assert_uint_eq(known(functions[0]), id_of("_Z5againv"));
    tp_cuda_kernel_forget(&binaries[2]);
    ck_assert_uint_eq(known(functions[0]), UINT32_MAX);
}
END_TEST

START_TEST(registered_again_without_being_forgotten)
{
    tp_cuda_kernel_register(&binaries[0], functions[0], "_Z3oldv");
    ck_assert_uint_eq(known(functions[0]), id_of("_Z3oldv"));
    tp_cuda_kernel_register(&binaries[0], functions[0], "_Z3newv");
    ck_assert_uint_eq(known(functions[0]), id_of("_Z3newv"));
    tp_cuda_kernel_forget(&binaries[0]);
    ck_assert_uint_eq(known(functions[0]), UINT32_MAX);
}
END_TEST

static const struct tp_cuda_launch one = {functions[0], {80, 2, 3}, {256, 1, 4}, 1024};

static void keep(const struct tp_cuda_launch *launch, uint32_t kernel, uint32_t geometry)
{
    tp_cuda_launch_keep(launch, atomic_load(&tp_cuda_kernel_changes), kernel, geometry);
}

START_TEST(a_launch_is_known_by_all_that_it_is)
{
    uint64_t ids = 0;

    ck_assert(!tp_cuda_launch_known(&one, &ids));
    keep(&one, 21, 22);
    ck_assert(tp_cuda_launch_known(&one, &ids));
    ck_assert_uint_eq(ids, UINT64_C(22) << 32 | 21);
    for (unsigned i = 0; i < 8; i++) {
        struct tp_cuda_launch other = one;
        uint32_t *fields[] = {&other.grid.x,  &other.grid.y,  &other.grid.z, &other.block.x,
                              &other.block.y, &other.block.z, &other.shared};
        if (i < 7)
            ++*fields[i];
        else
            other.function = functions[1];
        /* where it would stand, if its line were the same */
        struct tp_cuda_launch_line *line = tp_cuda_launch_line(&other), kept = *line;
        *line = *tp_cuda_launch_line(&one);
        ck_assert(!tp_cuda_launch_known(&other, &ids));
        *line = kept;
    }
}
END_TEST

START_TEST(a_launch_is_forgotten_when_its_address_stands_for_another_kernel)
{
    uint64_t ids;
    uint32_t before;

    tp_cuda_kernel_register(&binaries[0], functions[0], "_Z3oldv");
    before = atomic_load(&tp_cuda_kernel_changes);
    keep(&one, known(functions[0]), 22);
    ck_assert(tp_cuda_launch_known(&one, &ids));
    tp_cuda_kernel_register(&binaries[1], functions[1], "_Z5otherv"); /* nothing to it */
    ck_assert(tp_cuda_launch_known(&one, &ids));
    tp_cuda_kernel_forget(&binaries[0]);
    ck_assert(!tp_cuda_launch_known(&one, &ids));
    /* who looked the name up before that, and keeps it only now */
    tp_cuda_launch_keep(&one, before, 21, 22);
    ck_assert(!tp_cuda_launch_known(&one, &ids));
    tp_cuda_kernel_register(&binaries[2], functions[0], "_Z3newv");
    keep(&one, known(functions[0]), 22);
    ck_assert(tp_cuda_launch_known(&one, &ids));
    tp_cuda_kernel_register(&binaries[2], functions[0], "_Z5newerv");
    ck_assert(!tp_cuda_launch_known(&one, &ids));
}
END_TEST

START_TEST(a_launch_of_another_process_is_not_known)
{
    uint64_t ids;

    keep(&one, 21, 22);
    ck_assert(tp_cuda_launch_known(&one, &ids));
    tp_cuda_launch_line(&one)->owner++;
    ck_assert(!tp_cuda_launch_known(&one, &ids));
}
END_TEST

START_TEST(a_handle_stands_for_its_function)
{
    tp_cuda_kernel_register(&binaries[0], functions[0], "_Z5firstv");
    tp_cuda_kernel_alias(functions[10], functions[0]);
    tp_cuda_kernel_alias(functions[11], functions[5]); /* of nothing that is known */
    tp_cuda_kernel_alias(functions[0], functions[0]);
    ck_assert_uint_eq(known(functions[10]), id_of("_Z5firstv"));
    ck_assert_uint_eq(known(functions[11]), UINT32_MAX);
    tp_cuda_kernel_forget(&binaries[0]);
    ck_assert_uint_eq(known(functions[10]), id_of("_Z5firstv")); /* a copy */
}
END_TEST

START_TEST(what_was_asked_once_is_not_asked_again)
{
    ck_assert_uint_eq(known(functions[20]), UINT32_MAX);
    ck_assert_uint_eq(tp_cuda_kernel_learn(functions[20], "jit_kernel"), id_of("jit_kernel"));
    ck_assert_uint_eq(known(functions[20]), id_of("jit_kernel"));
    ck_assert_uint_eq(tp_cuda_kernel_learn(functions[21], NULL), 0);
    ck_assert_uint_eq(known(functions[21]), 0);
}
END_TEST

START_TEST(many_functions_of_many_binaries)
{
    enum { BINARIES = 200, EACH = 100 };
    static char names[BINARIES * EACH][16], handles[BINARIES], code[BINARIES * EACH][16];

    for (int i = 0; i < BINARIES * EACH; i++) {
        snprintf(names[i], sizeof(names[i]), "k%d", i);
        tp_cuda_kernel_register(&handles[i % BINARIES], code[i], names[i]);
    }
    for (int b = 0; b < BINARIES; b += 2)
        tp_cuda_kernel_forget(&handles[b]);
    for (int i = 0; i < BINARIES * EACH; i++)
        ck_assert_uint_eq(known(code[i]), i % 2 ? id_of(names[i]) : UINT32_MAX);
}
END_TEST

static void begin(void)
{
    host_begin();
    ck_assert(tp_agent_arm());
}

int main(void)
{
    TCase *tests = tcase_create("cuda_kernels");

    tcase_add_checked_fixture(tests, begin, host_end);
    tcase_add_test(tests, a_registered_function_has_its_name);
    tcase_add_test(tests, a_binary_takes_its_names_with_it);
    tcase_add_test(tests, registered_again_without_being_forgotten);
    tcase_add_test(tests, a_handle_stands_for_its_function);
    tcase_add_test(tests, a_launch_is_known_by_all_that_it_is);
    tcase_add_test(tests, a_launch_is_forgotten_when_its_address_stands_for_another_kernel);
    tcase_add_test(tests, a_launch_of_another_process_is_not_known);
    tcase_add_test(tests, what_was_asked_once_is_not_asked_again);
    tcase_add_test(tests, many_functions_of_many_binaries);
    return host_run(tests, "cuda_kernels");
}
