/* SPDX-License-Identifier: MIT
 * Decoders on the heap, apart from the decoder itself: a host's own allocator is none of ours. */
#include <stdlib.h>
#include <string.h>

#include "trace/block_decoder.h"

/* Makes *array hold at least @bytes; its contents are not kept. */
static bool grow(void *array, size_t bytes)
{
    void *old, *fresh = malloc(bytes);

    if (!fresh)
        return false;
    memcpy(&old, array, sizeof(old));
    free(old);
    memcpy(array, &fresh, sizeof(fresh));
    return true;
}

struct tp_block_decoder *tp_block_decoder_create(void)
{
    struct tp_block_decoder *decoder = calloc(1, sizeof(*decoder));

    if (!decoder)
        return NULL;
    decoder->zstd = ZSTD_createDCtx();
    if (!decoder->zstd) {
        free(decoder);
        return NULL;
    }
    decoder->grow = grow;
    tp_block_decoder_prepare(decoder);
    return decoder;
}

void tp_block_decoder_destroy(struct tp_block_decoder *decoder)
{
    if (!decoder)
        return;
    ZSTD_freeDCtx(decoder->zstd);
    free(decoder->payload);
    free(decoder->slots);
    free(decoder->open);
    free(decoder->values);
    for (unsigned word = 0; word < TP_SLOT_WORDS; word++)
        free(decoder->common[word]);
    free(decoder->at);
    free(decoder->kinds);
    free(decoder->selected);
    free(decoder->allocations);
    free(decoder);
}
