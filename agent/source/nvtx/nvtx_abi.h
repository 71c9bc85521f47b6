/* SPDX-License-Identifier: MIT */
#ifndef TP_NVTX_ABI_H
#define TP_NVTX_ABI_H

/*
 * NVTX's side of the injection interface, as far as we use it: numbers and layouts, declared by
 * ourselves. A test compares them with the toolkit's headers where these are installed.
 */

#include <stddef.h>
#include <stdint.h>

/* Export tables: what the program's NVTX answers for these ids. */
#define TP_NVTX_TABLE_CALLBACKS 1u

typedef void tp_nvtx_function(void);

struct tp_nvtx_callbacks {
    size_t struct_size;
    /* @ret_table[i] points to the function pointer to set, for i in [1, *ret_size). Returns
     * non-zero when it worked. */
    int (*get_functions)(int module, tp_nvtx_function ****ret_table, unsigned *ret_size);
};

typedef const void *tp_nvtx_get_table(uint32_t id);

#define TP_NVTX_MODULE_CORE 1
#define TP_NVTX_MODULE_CORE2 5

enum tp_nvtx_core {
    TP_NVTX_CORE_MARK_EX = 1,
    TP_NVTX_CORE_MARK_A,
    TP_NVTX_CORE_MARK_W,
    TP_NVTX_CORE_START_EX,
    TP_NVTX_CORE_START_A,
    TP_NVTX_CORE_START_W,
    TP_NVTX_CORE_END,
    TP_NVTX_CORE_PUSH_EX,
    TP_NVTX_CORE_PUSH_A,
    TP_NVTX_CORE_PUSH_W,
    TP_NVTX_CORE_POP,
    TP_NVTX_CORE_NAME_CATEGORY_A,
    TP_NVTX_CORE_NAME_CATEGORY_W,
    TP_NVTX_CORE_NAME_THREAD_A,
    TP_NVTX_CORE_NAME_THREAD_W,
    TP_NVTX_CORE_COUNT
};

enum tp_nvtx_core2 {
    TP_NVTX_CORE2_MARK_EX = 1,
    TP_NVTX_CORE2_START_EX,
    TP_NVTX_CORE2_END,
    TP_NVTX_CORE2_PUSH_EX,
    TP_NVTX_CORE2_POP,
    TP_NVTX_CORE2_RESOURCE_CREATE,
    TP_NVTX_CORE2_RESOURCE_DESTROY,
    TP_NVTX_CORE2_NAME_CATEGORY_A,
    TP_NVTX_CORE2_NAME_CATEGORY_W,
    TP_NVTX_CORE2_REGISTER_STRING_A,
    TP_NVTX_CORE2_REGISTER_STRING_W,
    TP_NVTX_CORE2_DOMAIN_CREATE_A,
    TP_NVTX_CORE2_DOMAIN_CREATE_W,
    TP_NVTX_CORE2_DOMAIN_DESTROY,
    TP_NVTX_CORE2_INITIALIZE,
    TP_NVTX_CORE2_COUNT
};

#define TP_NVTX_COLOR_ARGB 1
#define TP_NVTX_MESSAGE_ASCII 1
#define TP_NVTX_MESSAGE_WIDE 2
#define TP_NVTX_MESSAGE_REGISTERED 3
#define TP_NVTX_PAYLOAD_U64 1
#define TP_NVTX_PAYLOAD_U32 4
#define TP_NVTX_PAYLOAD_F32 6

/* Attributes of an event; a caller's may be shorter: no field beyond `size` is read. */
struct tp_nvtx_attributes {
    uint16_t version;
    uint16_t size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};

/* What push and pop return where there is nothing to tell, and for a pop without a push. */
#define TP_NVTX_NOT_TRACKED (-2)
#define TP_NVTX_NO_RANGE (-1)

#endif
