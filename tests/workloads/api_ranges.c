/* SPDX-License-Identifier: MIT */
/* Every call of tpagent.h. Without the agent it does the same and nothing is recorded. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tpagent.h"

static void ranges(void)
{
    char name[32] = "temporary";
    const int64_t sizes[] = {2, 3, -1}, many[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    struct tpagent_attribute attributes[] = {
        tpagent_signed("minus", -1),      tpagent_unsigned("large", UINT64_MAX),
        tpagent_double("half", 0.5),      tpagent_text("text", "some \"text\""),
        tpagent_shape("shape", sizes, 3), tpagent_shape("long", many, 10),
        tpagent_shape("scalar", NULL, 0), tpagent_text("nothing", NULL),
    };

    tpagent_end(); /* none is open */
    tpagent_add(tpagent_signed("nowhere", 1));
    tpagent_begin("outer");
    tpagent_begin(name);
    strcpy(name, "changed");
    tpagent_end();
    tpagent_begin(name);
    tpagent_add(tpagent_text("late", "yes"));
    tpagent_end();
    tpagent_begin_with("with attributes", attributes, sizeof(attributes) / sizeof(attributes[0]));
    tpagent_end();
    tpagent_begin(NULL);
    tpagent_end();
    tpagent_end();
    tpagent_end();
}

static void points(void)
{
    tpagent_mark("mark");
    tpagent_counter_signed("signed", -3);
    tpagent_counter_unsigned("unsigned", UINT64_MAX);
    tpagent_counter_double("loss", 0.125);
    tpagent_memory(1, 2, 0x1000, 4096);
    tpagent_memory(1, 2, 0x1000, -4096);
}

static void *end_elsewhere(void *id)
{
    tpagent_async_end(*(uint64_t *)id);
    return NULL;
}

static void async(void)
{
    pthread_t thread;
    uint64_t first = tpagent_async_begin("first"), second = tpagent_async_begin("second");

    if (pthread_create(&thread, NULL, end_elsewhere, &first))
        abort();
    pthread_join(thread, NULL);
    tpagent_async_end(second);
    tpagent_async_end(0);
    if (tpagent_recording() && (!first || first == second))
        puts("numbers of ranges are wrong");
}

int main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    puts(tpagent_recording() ? "recording" : "not recording");
    ranges();
    points();
    async();
    return 0;
}
