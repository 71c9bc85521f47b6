/* SPDX-License-Identifier: MIT */
/* Our own declarations of NVTX's interface against the headers that are installed here. Compiling
 * it is the test. */
#include <stddef.h>

#include <nvtx3/nvToolsExt.h>

#include "source/nvtx/nvtx_abi.h"

#define SAME(ours, theirs)                                                                         \
    _Static_assert((long long)(ours) == (long long)(theirs), #ours " is " #theirs)
#define SAME_FIELD(ours, theirs)                                                                   \
    SAME(offsetof(struct tp_nvtx_attributes, ours), offsetof(nvtxEventAttributes_t, theirs));      \
    SAME(sizeof(((struct tp_nvtx_attributes *)0)->ours),                                           \
         sizeof(((nvtxEventAttributes_t *)0)->theirs))

SAME(sizeof(struct tp_nvtx_attributes), sizeof(nvtxEventAttributes_t));
SAME_FIELD(version, version);
SAME_FIELD(size, size);
SAME_FIELD(category, category);
SAME_FIELD(color_type, colorType);
SAME_FIELD(color, color);
SAME_FIELD(payload_type, payloadType);
SAME_FIELD(payload, payload);
SAME_FIELD(message_type, messageType);
SAME_FIELD(message, message);

SAME(TP_NVTX_COLOR_ARGB, NVTX_COLOR_ARGB);
SAME(TP_NVTX_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII);
SAME(TP_NVTX_MESSAGE_WIDE, NVTX_MESSAGE_TYPE_UNICODE);
SAME(TP_NVTX_MESSAGE_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
SAME(TP_NVTX_PAYLOAD_U64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
SAME(TP_NVTX_PAYLOAD_U32, NVTX_PAYLOAD_TYPE_UNSIGNED_INT32);
SAME(TP_NVTX_PAYLOAD_F32, NVTX_PAYLOAD_TYPE_FLOAT);
SAME(TP_NVTX_NOT_TRACKED, NVTX_NO_PUSH_POP_TRACKING);

SAME(TP_NVTX_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(TP_NVTX_MODULE_CORE, NVTX_CB_MODULE_CORE);
SAME(TP_NVTX_MODULE_CORE2, NVTX_CB_MODULE_CORE2);
SAME(offsetof(struct tp_nvtx_callbacks, get_functions),
     offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
SAME(sizeof(struct tp_nvtx_callbacks), sizeof(NvtxExportTableCallbacks));

SAME(TP_NVTX_CORE_MARK_EX, NVTX_CBID_CORE_MarkEx);
SAME(TP_NVTX_CORE_MARK_A, NVTX_CBID_CORE_MarkA);
SAME(TP_NVTX_CORE_MARK_W, NVTX_CBID_CORE_MarkW);
SAME(TP_NVTX_CORE_START_EX, NVTX_CBID_CORE_RangeStartEx);
SAME(TP_NVTX_CORE_START_A, NVTX_CBID_CORE_RangeStartA);
SAME(TP_NVTX_CORE_START_W, NVTX_CBID_CORE_RangeStartW);
SAME(TP_NVTX_CORE_END, NVTX_CBID_CORE_RangeEnd);
SAME(TP_NVTX_CORE_PUSH_EX, NVTX_CBID_CORE_RangePushEx);
SAME(TP_NVTX_CORE_PUSH_A, NVTX_CBID_CORE_RangePushA);
SAME(TP_NVTX_CORE_PUSH_W, NVTX_CBID_CORE_RangePushW);
SAME(TP_NVTX_CORE_POP, NVTX_CBID_CORE_RangePop);
SAME(TP_NVTX_CORE_NAME_CATEGORY_A, NVTX_CBID_CORE_NameCategoryA);
SAME(TP_NVTX_CORE_NAME_CATEGORY_W, NVTX_CBID_CORE_NameCategoryW);
SAME(TP_NVTX_CORE_NAME_THREAD_A, NVTX_CBID_CORE_NameOsThreadA);
SAME(TP_NVTX_CORE_NAME_THREAD_W, NVTX_CBID_CORE_NameOsThreadW);

SAME(TP_NVTX_CORE2_MARK_EX, NVTX_CBID_CORE2_DomainMarkEx);
SAME(TP_NVTX_CORE2_START_EX, NVTX_CBID_CORE2_DomainRangeStartEx);
SAME(TP_NVTX_CORE2_END, NVTX_CBID_CORE2_DomainRangeEnd);
SAME(TP_NVTX_CORE2_PUSH_EX, NVTX_CBID_CORE2_DomainRangePushEx);
SAME(TP_NVTX_CORE2_POP, NVTX_CBID_CORE2_DomainRangePop);
SAME(TP_NVTX_CORE2_RESOURCE_CREATE, NVTX_CBID_CORE2_DomainResourceCreate);
SAME(TP_NVTX_CORE2_RESOURCE_DESTROY, NVTX_CBID_CORE2_DomainResourceDestroy);
SAME(TP_NVTX_CORE2_NAME_CATEGORY_A, NVTX_CBID_CORE2_DomainNameCategoryA);
SAME(TP_NVTX_CORE2_NAME_CATEGORY_W, NVTX_CBID_CORE2_DomainNameCategoryW);
SAME(TP_NVTX_CORE2_REGISTER_STRING_A, NVTX_CBID_CORE2_DomainRegisterStringA);
SAME(TP_NVTX_CORE2_REGISTER_STRING_W, NVTX_CBID_CORE2_DomainRegisterStringW);
SAME(TP_NVTX_CORE2_DOMAIN_CREATE_A, NVTX_CBID_CORE2_DomainCreateA);
SAME(TP_NVTX_CORE2_DOMAIN_CREATE_W, NVTX_CBID_CORE2_DomainCreateW);
SAME(TP_NVTX_CORE2_DOMAIN_DESTROY, NVTX_CBID_CORE2_DomainDestroy);
SAME(TP_NVTX_CORE2_INITIALIZE, NVTX_CBID_CORE2_Initialize);

int main(void)
{
    return 0;
}
