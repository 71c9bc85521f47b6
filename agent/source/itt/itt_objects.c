/* SPDX-License-Identifier: MIT */
/*
 * ITT's objects: domains, string handles, counters, events. All of them live for ever.
 *
 * The program asks for a domain or a string by its text, again and again (PyTorch does for each
 * operator), so both are found through a hash. They are not linked into the lists of the stub:
 * newer stubs give all that stands there to free() when they are unloaded, and what hooks make does
 * not come from malloc.
 */
#include "source/itt/itt.h"

#include <errno.h>
#include <string.h>

#include "pool.h"

#define DOMAIN_BUCKETS 256u
#define STRING_BUCKETS 16384u
#define COUNTERS_MAX 4096u
#define EVENTS_MAX 4096u

/* A string of ours, and the name that it stands for in the domain it is used in first. */
struct entry {
    union {
        struct tp_itt_domain domain;
        struct tp_itt_string string;
    };
    struct entry *next;
    uint64_t hash;
    uint32_t length;
    const char *text;
};

static struct entry *_Atomic domains[DOMAIN_BUCKETS], *_Atomic strings[STRING_BUCKETS];
static struct tp_counter *_Atomic counters[COUNTERS_MAX];
static struct tp_held_name *_Atomic events[EVENTS_MAX];

static struct entry *find(struct entry *entry, uint64_t hash, const char *text, size_t length)
{
    for (; entry; entry = entry->next)
        if (entry->hash == hash && entry->length == length && !memcmp(entry->text, text, length))
            return entry;
    return NULL;
}

static struct entry *make(bool domain, uint64_t hash, const char *text, size_t length)
{
    struct entry *made = tp_pool_get(sizeof(*made));

    if (!made || !(made->text = tp_pool_copy(text, length)))
        return NULL;
    made->hash = hash;
    made->length = (uint32_t)length;
    if (domain) {
        made->domain.name = made->text;
        made->domain.flags = 1;
    } else {
        made->string.text = made->text;
    }
    return made;
}

/* The entry of @text in a table of @count buckets, made at its first sight. Who loses a race leaves
 * its entry unused. */
static struct entry *find_or_make(struct entry *_Atomic *buckets, uint32_t count, const char *text,
                                  size_t length)
{
    uint64_t hash = tp_name_hash(0, text, length);
    struct entry *_Atomic *bucket = &buckets[hash % count];
    struct entry *head = atomic_load_explicit(bucket, memory_order_acquire), *made = NULL;

    for (;;) {
        struct entry *entry = find(head, hash, text, length);
        if (entry)
            return entry;
        if (!made && !(made = make(buckets == domains, hash, text, length)))
            return NULL;
        made->next = head;
        if (atomic_compare_exchange_strong_explicit(bucket, &head, made, memory_order_acq_rel,
                                                    memory_order_acquire))
            return made;
    }
}

/* --- domains and strings
 * -------------------------------------------------------------------------------- */

const struct tp_scope *tp_itt_scope(struct tp_itt_domain *domain)
{
    char small[256];
    bool whole;

    if (!domain)
        return NULL;
    void *scope = atomic_load_explicit(&domain->extra2, memory_order_acquire);
    if (tp_likely(scope != NULL))
        return scope;
    struct tp_scope *made;
    if (domain->name)
        made = tp_scope_create(domain->name, strlen(domain->name));
    else if (domain->wide)
        made = tp_scope_create(small, tp_wide_utf8(domain->wide, small, sizeof(small), &whole));
    else
        return NULL;
    if (made && atomic_compare_exchange_strong(&domain->extra2, &scope, made))
        return made;
    return scope;
}

static struct tp_held_name *hold(const struct tp_scope *scope, struct tp_itt_string *string)
{
    struct tp_held_name *held = tp_pool_get(sizeof(*held));
    void *other = NULL;
    int error = -ENOMEM;

    if (held && string->text)
        error = tp_held_copy(held, scope, string->text, strlen(string->text));
    else if (held && string->wide)
        error = tp_held_copy_wide(held, scope, string->wide);
    if (error)
        return NULL;
    return atomic_compare_exchange_strong(&string->extra2, &other, held) ? held : other;
}

uint32_t tp_itt_name(struct tp_itt_domain *domain, struct tp_itt_string *string)
{
    const struct tp_scope *scope = tp_itt_scope(domain);

    if (!string)
        return TP_NAME_NONE;
    struct tp_held_name *held = atomic_load_explicit(&string->extra2, memory_order_acquire);
    if (!held && !(held = hold(scope, string)))
        return TP_NAME_NO_ROOM;
    return held->scope == scope ? tp_held_id(held) : tp_scope_text(scope, held->text);
}

uint32_t tp_itt_key(const struct tp_itt_string *string)
{
    char small[256];
    bool whole;

    if (string->text)
        return tp_intern_text(TP_NAME_KEY, string->text);
    return string->wide ? tp_intern(TP_NAME_KEY, small,
                                    tp_wide_utf8(string->wide, small, sizeof(small), &whole))
                        : TP_NAME_NONE;
}

static struct tp_itt_domain *create_domain(const char *name, size_t length)
{
    struct entry *entry = find_or_make(domains, DOMAIN_BUCKETS, name, length);

    return entry ? &entry->domain : NULL;
}

struct tp_itt_domain *tp_itt_domain_create(const char *name)
{
    return name ? create_domain(name, strlen(name)) : NULL;
}

static struct tp_itt_string *create_string(const char *text, size_t length)
{
    struct entry *entry = find_or_make(strings, STRING_BUCKETS, text, length);

    return entry ? &entry->string : NULL;
}

struct tp_itt_string *tp_itt_string_create(const char *text)
{
    return text ? create_string(text, strlen(text)) : NULL;
}

struct tp_itt_domain *tp_itt_domain_create_wide(const wchar_t *name)
{
    char *scratch = name ? tp_scratch_take() : NULL;
    bool whole;
    struct tp_itt_domain *domain =
        scratch ? create_domain(scratch, tp_wide_utf8(name, scratch, TP_SCRATCH_BYTES, &whole))
                : NULL;

    tp_scratch_give(scratch);
    return domain;
}

struct tp_itt_string *tp_itt_string_create_wide(const wchar_t *text)
{
    char *scratch = text ? tp_scratch_take() : NULL;
    bool whole;
    struct tp_itt_string *string =
        scratch ? create_string(scratch, tp_wide_utf8(text, scratch, TP_SCRATCH_BYTES, &whole))
                : NULL;

    tp_scratch_give(scratch);
    return string;
}

/* --- counters
 * ------------------------------------------------------------------------------------------- */

static struct tp_counter *make_counter(const struct tp_scope *scope, const char *name, int type)
{
    struct tp_counter *counter = tp_pool_get(sizeof(*counter));

    if (!counter || !name || tp_held_copy(&counter->name, scope, name, strlen(name)))
        return NULL;
    counter->type =
        type > TP_ITT_UNKNOWN && type <= TP_ITT_DOUBLE ? (enum tp_itt_type)type : TP_ITT_U64;
    counter->handle.name = counter->name.text;
    counter->handle.domain = scope ? scope->name : NULL;
    counter->handle.type = (int)counter->type;
    counter->key[0] = &counter->handle;
    return counter;
}

/* The counter with this key, or the place where it belongs. */
static struct tp_counter *_Atomic *counter_place(const void *a, const void *b)
{
    uint64_t mixed = ((uintptr_t)a * 3 ^ (uintptr_t)b) * UINT64_C(0x9e3779b97f4a7c15);

    for (uint32_t i = 0; i < COUNTERS_MAX; i++) {
        struct tp_counter *_Atomic *place = &counters[((mixed >> 52) + i) % COUNTERS_MAX];
        struct tp_counter *counter = atomic_load_explicit(place, memory_order_acquire);
        if (!counter || (counter->key[0] == a && counter->key[1] == b))
            return place;
    }
    return NULL;
}

/* Return: @counter, or the one with the same key that somebody else has just put there, or NULL. */
static struct tp_counter *keep_counter(struct tp_counter *counter)
{
    for (;;) {
        struct tp_counter *_Atomic *place = counter_place(counter->key[0], counter->key[1]);
        struct tp_counter *there = NULL;
        if (!place)
            return NULL;
        if (atomic_compare_exchange_strong(place, &there, counter))
            return counter;
        if (there->key[0] == counter->key[0] && there->key[1] == counter->key[1])
            return there;
    }
}

/* A domain by its name alone. */
static const struct tp_scope *scope_named(const char *name)
{
    return name && *name ? tp_itt_scope(tp_itt_domain_create(name)) : NULL;
}

struct tp_counter *tp_itt_counter_of(struct tp_itt_counter *handle)
{
    struct tp_counter *_Atomic *place = handle ? counter_place(handle, NULL) : NULL;
    struct tp_counter *counter = place ? atomic_load_explicit(place, memory_order_acquire) : NULL;

    if (counter || !place)
        return counter;
    counter = make_counter(scope_named(handle->domain), handle->name,
                           handle->type); /* one of the stub's */
    if (!counter)
        return NULL;
    counter->key[0] = handle;
    return keep_counter(counter);
}

struct tp_counter *tp_itt_counter_named(struct tp_itt_domain *domain, struct tp_itt_string *string)
{
    struct tp_counter *_Atomic *place = counter_place(domain, string);
    struct tp_counter *counter = place ? atomic_load_explicit(place, memory_order_acquire) : NULL;

    if (counter || !place)
        return counter;
    counter = make_counter(tp_itt_scope(domain), string->text, TP_ITT_S64);
    if (!counter)
        return NULL;
    counter->key[0] = domain;
    counter->key[1] = string;
    return keep_counter(counter);
}

static bool same_counter(const struct tp_counter *counter, const struct tp_scope *scope,
                         const char *name, int type)
{
    return !counter->key[1] && counter->name.scope == scope && (int)counter->type == type &&
           !strcmp(counter->name.text, name);
}

struct tp_itt_counter *tp_itt_counter_create_typed(const char *name, const char *domain, int type)
{
    const struct tp_scope *scope = scope_named(domain);

    for (uint32_t i = 0; name && i < COUNTERS_MAX; i++) {
        struct tp_counter *counter = atomic_load_explicit(&counters[i], memory_order_acquire);
        if (counter && counter->key[0] == &counter->handle &&
            same_counter(counter, scope, name, type))
            return &counter->handle;
    }
    struct tp_counter *counter = make_counter(scope, name, type);
    return counter && keep_counter(counter) ? &counter->handle : NULL;
}

struct tp_itt_counter *tp_itt_counter_create(const char *name, const char *domain)
{
    return tp_itt_counter_create_typed(name, domain, TP_ITT_U64);
}

/* --- events
 * --------------------------------------------------------------------------------------------- */

/* Numbers from 1; the same name has the same number. */
int tp_itt_event_create(const char *name, int length)
{
    size_t size = name && length > 0 ? strnlen(name, (size_t)length) : 0;
    struct tp_held_name *held = name ? tp_pool_get(sizeof(*held)) : NULL;

    if (!held || tp_held_copy(held, NULL, name, size))
        return 0;
    for (int i = 0; i < (int)EVENTS_MAX; i++) {
        struct tp_held_name *there = NULL;
        if (atomic_compare_exchange_strong(&events[i], &there, held) ||
            (there->length == size && !memcmp(there->text, name, size)))
            return i + 1;
    }
    return 0;
}

uint32_t tp_itt_event_name(int event)
{
    struct tp_held_name *held =
        event > 0 && event <= (int)EVENTS_MAX ? atomic_load(&events[event - 1]) : NULL;

    return held ? tp_held_id(held) : TP_NAME_NONE;
}
