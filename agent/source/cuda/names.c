/* SPDX-License-Identifier: MIT */
/*
 * Ids of what launches have in common. A cache line holds a key and the id of its name: a reader
 * whom a writer disturbs goes the long way. A name's id holds in one process only: the owner in the
 * key tells a forked child's from its parent's.
 */
#include "source/cuda/cuda.h"

#include "agent.h"
#include "base/text.h"
#include "intern.h"
#include "record.h"
#include "seqlock.h"

#define GEOMETRIES 1024u
#define GEOMETRY_NAMES_MAX 200000u /* later ones stay unknown: kernels want names, too */

/* Field by field, as they were stored a moment ago: a wider load would wait for those stores. With
 * odd factors. */
#define GEOMETRY_FIELDS(FIELD)                                                                     \
    FIELD(grid[0], UINT64_C(0x4164d8399f767c45))                                                   \
    FIELD(grid[1], UINT64_C(0x5bc8fbbcbde5c099))                                                   \
    FIELD(grid[2], UINT64_C(0xb0c11fdecb91ce37))                                                   \
    FIELD(block[0], UINT64_C(0xd76d4330f1446beb))                                                  \
    FIELD(block[1], UINT64_C(0xa6eb8c9ebd69fe29))                                                  \
    FIELD(block[2], UINT64_C(0x87b0b125ec1d7da1))                                                  \
    FIELD(static_shared, UINT64_C(0xd7210dff076ce2ef))                                             \
    FIELD(dynamic_shared, UINT64_C(0xc6a5387777330bdb))                                            \
    FIELD(local_per_thread, UINT64_C(0x3fc1ea36f17fd375))                                          \
    FIELD(cluster[0], UINT64_C(0x0d464138a6233255))                                                \
    FIELD(cluster[1], UINT64_C(0x2827688de6a16a3b))                                                \
    FIELD(cluster[2], UINT64_C(0x5f2dd97f1cfb10f7))                                                \
    FIELD(registers, UINT64_C(0xde5271007814e8a3))

struct geometry_line {
    _Atomic uint32_t number; /* seqlock.h */
    uint32_t owner, id;
    struct tp_cuda_geometry key;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct geometry_line) == 64, "one line");

static struct geometry_line geometries[GEOMETRIES];
static _Atomic uint32_t geometry_names;

static uint32_t make_geometry(const struct tp_cuda_geometry *g)
{
    char buffer[256];
    struct tp_text text;

    if (atomic_load_explicit(&geometry_names, memory_order_relaxed) >= GEOMETRY_NAMES_MAX)
        return TP_NAME_NONE;
    tp_text_init(&text, buffer, sizeof(buffer));
    tp_text_format(&text, "[[%u,%u,%u],[%u,%u,%u],%i,%u,%u,%u", g->grid[0], g->grid[1], g->grid[2],
                   g->block[0], g->block[1], g->block[2], g->registers, g->static_shared,
                   g->dynamic_shared, g->local_per_thread);
    if (g->cluster[0])
        tp_text_format(&text, ",[%u,%u,%u]", g->cluster[0], g->cluster[1], g->cluster[2]);
    tp_text_char(&text, ']');
    return tp_intern(TP_NAME_GEOMETRY, buffer, text.used);
}

static inline struct geometry_line *geometry_line(const struct tp_cuda_geometry *geometry)
{
    uint64_t hash = 0;

#define FIELD(name, factor) hash += (uint32_t)geometry->name * factor;
    GEOMETRY_FIELDS(FIELD)
#undef FIELD
    return &geometries[(hash ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> 54];
}

static inline bool is_geometry(const struct geometry_line *line,
                               const struct tp_cuda_geometry *geometry)
{
    uint32_t differs = line->owner ^ tp_names_owner();

#define FIELD(name, factor) differs |= (uint32_t)(line->key.name ^ geometry->name);
    GEOMETRY_FIELDS(FIELD)
#undef FIELD
    return !differs;
}

uint32_t tp_cuda_geometry_id(const struct tp_cuda_geometry *geometry)
{
    struct geometry_line *line = geometry_line(geometry);
    uint32_t before, id;

    if (tp_likely(tp_seq_read_begin(&line->number, &before) && is_geometry(line, geometry))) {
        id = line->id;
        if (tp_likely(tp_seq_read_end(&line->number, before)))
            return id;
    }
    id = make_geometry(geometry);
    if (id < TP_NAME_FIRST || !tp_seq_write_begin(&line->number, before))
        return id;
    atomic_fetch_add_explicit(&geometry_names, 1, memory_order_relaxed);
    line->owner = tp_names_owner();
    line->id = id;
    line->key = *geometry;
    tp_seq_write_end(&line->number, before);
    return id;
}

/* --- API functions */

static _Atomic uint64_t api_names[3][TP_CUDA_CBIDS]; /* kept ids */

/* "_v" and four digits or more: the CUDA version in which a function got its meaning. */
static size_t without_version(const char *name, size_t size)
{
    size_t digits = size;

    while (digits && name[digits - 1] >= '0' && name[digits - 1] <= '9')
        digits--;
    if (size - digits >= 4 && digits >= 2 && name[digits - 1] == 'v' && name[digits - 2] == '_')
        return digits - 2;
    return size;
}

size_t tp_cuda_api_plain_name(const char *name, char *ret_plain, size_t size)
{
    size_t length = without_version(name, strlen(name));

    if (length > 5 &&
        (!memcmp(name + length - 5, "_ptsz", 5) || !memcmp(name + length - 5, "_ptds", 5)))
        length -= 5;
    if (length >= size)
        return 0;
    memcpy(ret_plain, name, length);
    ret_plain[length] = '\0';
    return length;
}

static uint32_t make_api_name(uint32_t domain, uint32_t cbid)
{
    const char *name = NULL;
    char plain[128];
    struct tp_text text;

    if (!tp_cuda.cupti.GetCallbackName ||
        tp_cuda.cupti.GetCallbackName(domain, cbid, &name) != TP_CUPTI_SUCCESS || !name ||
        !tp_cuda_api_plain_name(name, plain, sizeof(plain))) {
        tp_text_init(&text, plain, sizeof(plain));
        tp_text_format(&text, "%s call %u", domain == TP_CUPTI_DOMAIN_RUNTIME ? "cuda" : "cu",
                       cbid);
    }
    return tp_intern(TP_NAME_TEXT, plain, strlen(plain));
}

uint32_t tp_cuda_api_id(uint32_t domain, uint32_t cbid)
{
    uint32_t id;

    if (tp_unlikely(domain > 2 || cbid >= TP_CUDA_CBIDS))
        return make_api_name(domain, cbid);
    if (tp_likely(tp_kept_id(&api_names[domain][cbid], &id)))
        return id;
    id = make_api_name(domain, cbid);
    if (id >= TP_NAME_FIRST)
        tp_keep_id(&api_names[domain][cbid], id);
    return id;
}
