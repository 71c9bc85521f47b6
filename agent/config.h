/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_CONFIG_H
#define TP_AGENT_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "capture_plan.h"

#define TP_CONFIG_TEXT_MAX 1024

enum tp_config_alloc {
    TP_ALLOC_OFF,
    TP_ALLOC_COUNT,
    TP_ALLOC_SAMPLE,
    TP_ALLOC_COUNT_SAMPLE,
    TP_ALLOC_ALL
};
enum tp_config_shapes { TP_SHAPES_OFF, TP_SHAPES_ON, TP_SHAPES_ALL };
enum tp_config_when_big { TP_BIG_KEEP_LAST, TP_BIG_KEEP_FIRST };
enum tp_config_when_full { TP_FULL_AUTO, TP_FULL_DROP, TP_FULL_WAIT };
enum tp_config_cuda { TP_CUDA_AUTO, TP_CUDA_CUPTI, TP_CUDA_HOOKS, TP_CUDA_OFF };
enum tp_config_cuda_graphs { TP_CUDA_GRAPHS_GRAPH, TP_CUDA_GRAPHS_NODE };
enum tp_config_cupti_clock { TP_CUPTI_CLOCK_AUTO, TP_CUPTI_CLOCK_TSC, TP_CUPTI_CLOCK_CUPTI };
enum tp_config_log { TP_LOG_QUIET, TP_LOG_WARN, TP_LOG_INFO };

#define TP_CONFIG_MEMBER_TEXT(field) char field[TP_CONFIG_TEXT_MAX];
#define TP_CONFIG_MEMBER_BOOL(field) bool field;
#define TP_CONFIG_MEMBER_SIZE(field) uint64_t field;
#define TP_CONFIG_MEMBER_CHOICE(field) uint8_t field; /* index among the values */
#define TP_CONFIG_MEMBER_CHOICE_SIZE(field) struct tp_choice_size field;
#define TP_CONFIG_MEMBER_CAPTURE(field) struct tp_capture_by_what field;
#define TP_CONFIG_MEMBER_TIME(field) uint64_t field; /* ns */
#define TP_CONFIG_MEMBER_STEPS(field) struct tp_schedule field;

struct tp_choice_size {
    uint8_t choice; /* index among the values */
    uint64_t bytes; /* of a value that bears a size */
};

/* The environment, read once. Constant afterwards. */
struct tp_config {
#define TP_VAR(field, name, TYPE, fallback, values, help) TP_CONFIG_MEMBER_##TYPE(field)
#include "env_vars.def"
#undef TP_VAR
    bool inherited; /* TPAGENT_RUN_DIR was set when this image started: an earlier process recorded
                     */
    uint32_t source_mask; /* bit per row of sources.def */
};

/**
 * tp_config_read - environment to configuration
 * @config:      filled in any case; what could not be understood keeps its default
 * @environment: as environ
 *
 * A bad value or an unknown TPAGENT_* name gives one line through tp_log with the nearest valid
 * one; unknown names are told only in the first process of a run. Context: start.
 */
void tp_config_read(struct tp_config *config, char *const *environment);

/** tp_config_help - print every variable, its value as resolved and its meaning. Context: start. */
void tp_config_help(const struct tp_config *config);

struct tp_text;
/** tp_config_json - {"TPAGENT_OUT":...,...} as resolved. Context: any. */
void tp_config_json(const struct tp_config *config, struct tp_text *text);

#endif
