/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_HOST_H
#define TP_TESTS_HOST_H

/* A process of the agent's inside a test: its own folder, armed by the first event, ended by hand.
 */

#include <check.h>

#include "agent.h"
#include "drain.h"
#include "intern.h"
#include "record.h"
#include "recording.h"

/** host_begin - a fresh process in a fresh folder under the temporary one; asleep */
void host_begin(void);

/** host_live - start the drain thread */
void host_live(void);

/** host_end - the end as at exit, and the folder goes; host_end_keep leaves the files for the test
 * to read */
void host_end_keep(void);
void host_end(void);

/** host_read - a whole file of the instance's folder, freed by the caller; *ret_size its size; NULL
 * when missing */
char *host_read(const char *name, size_t *ret_size);

/**
 * host_collect - all slots of a track, from the segments on disk
 *
 * Asserts that they are gapless from slot @from on. Return: slots, freed by the caller.
 */
uint64_t *host_collect(uint32_t track, uint64_t from, uint64_t *ret_count);

/** host_run - run a suite made of one case. Return: exit status. */
int host_run(TCase *tests, const char *name);

#endif
