/* SPDX-License-Identifier: MIT */
#include "elf_symbol.h"

#include <link.h>
#include <string.h>

struct tables {
    const ElfW(Sym) * symbols;
    const char *texts;
    const uint32_t *hashes;
};

/* The loader has made most of these absolute, but not in every object. */
static const void *at(const struct link_map *object, const ElfW(Dyn) * entry)
{
    uintptr_t value = entry->d_un.d_ptr;

    return (const void *)(value < object->l_addr ? object->l_addr + value : value);
}

static bool find_tables(const struct link_map *object, struct tables *t)
{
    *t = (struct tables){0};
    for (const ElfW(Dyn) *entry = object->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB)
            t->symbols = at(object, entry);
        else if (entry->d_tag == DT_STRTAB)
            t->texts = at(object, entry);
        else if (entry->d_tag == DT_GNU_HASH)
            t->hashes = at(object, entry);
    }
    return t->symbols && t->texts && t->hashes;
}

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;

    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

/* Number of the first symbol of the hash's bucket, 0 for none: most objects say so in a filter. */
static uint32_t first_of(const uint32_t *hashes, uint32_t hash, const uint32_t **ret_chain)
{
    uint32_t buckets = hashes[0], first = hashes[1], words = hashes[2], shift = hashes[3];
    const unsigned bits = 8 * sizeof(ElfW(Addr));
    const ElfW(Addr) *filter = (const void *)(hashes + 4);
    const uint32_t *bucket = (const void *)(filter + words);

    if (!buckets || !words)
        return 0;
    ElfW(Addr) word = filter[hash / bits % words];
    if (!(word >> hash % bits & word >> (hash >> shift) % bits & 1))
        return 0;
    *ret_chain = bucket + buckets - first; /* by the symbol's number */
    return bucket[hash % buckets];
}

bool tp_elf_symbol(const struct link_map *object, const char *name, uintptr_t *ret_address,
                   size_t *ret_size)
{
    uint32_t hash = hash_of(name), number;
    const uint32_t *chain;
    struct tables t;

    if (!find_tables(object, &t) || !(number = first_of(t.hashes, hash, &chain)))
        return false;
    for (;; number++) {
        const ElfW(Sym) *symbol = &t.symbols[number];
        if (!((chain[number] ^ hash) >> 1) && symbol->st_shndx != SHN_UNDEF &&
            !strcmp(t.texts + symbol->st_name, name)) {
            *ret_address = object->l_addr + symbol->st_value;
            if (ret_size)
                *ret_size = symbol->st_size;
            return true;
        }
        if (chain[number] & 1)
            return false;
    }
}
