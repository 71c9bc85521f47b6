/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_PROBE_H
#define TP_TORCH_PROBE_H

#include "source/torch/python.h"
#include "source/torch/search.h"

/**
 * tp_torch_probe_moment - whether calibration may run now without the user's program noticing
 * @torch: the module
 *
 * Context: with the interpreter lock, on the thread that is to calibrate.
 * Return: NULL when it may; else a static text that says what is in the way.
 */
const char *tp_torch_probe_moment(const struct tp_python *python, struct tp_py_object *torch);

/**
 * tp_torch_probe_run - make the samples, run the probes, search
 *
 * While a probe runs torch calls back, and tp_torch_search_record() looks. Uses no random numbers,
 * no device but the CPU, makes no gradient; every exception is swallowed; what it makes it drops.
 *
 * Context: as above, with the thread's operators not recorded.
 * Return: false when the first probe's record was not seen: torch does not call back on this thread
 * now.
 */
bool tp_torch_probe_run(const struct tp_python *python, struct tp_py_object *torch,
                        struct tp_torch_search *search);

#endif
