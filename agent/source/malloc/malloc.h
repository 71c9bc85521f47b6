/* SPDX-License-Identifier: MIT */
#ifndef TP_SOURCE_MALLOC_H
#define TP_SOURCE_MALLOC_H

/** tp_malloc_stop_counting - the source is not wanted: the wrappers only pass on. Context: start.
 */
void tp_malloc_stop_counting(void);

#endif
