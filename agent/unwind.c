/* SPDX-License-Identifier: MIT */
#include "unwind.h"

#include <string.h>

#include "base/os.h"
#include "mapped.h"

_Atomic uint64_t *tp_unwind_table;

#if defined(__x86_64__)

#define STATES_MAX 8u /* remembered in each other */
#define FRAME_REGISTER 6u
#define STACK_REGISTER 7u
#define RETURN_ADDRESS 16u
#define RETURN_BELOW (-8) /* where every function has it */

/* --- bytes */

struct reader {
    const uint8_t *at, *end;
};

static uint64_t take(struct reader *r, unsigned size)
{
    uint64_t value = 0;

    if ((size_t)(r->end - r->at) < size) {
        r->at = r->end;
        return 0;
    }
    memcpy(&value, r->at, size);
    r->at += size;
    return value;
}

static uint64_t take_unsigned(struct reader *r)
{
    uint64_t value = 0;

    for (unsigned shift = 0; r->at < r->end; shift += 7) {
        uint8_t byte = *r->at++;
        value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        if (!(byte & 0x80))
            break;
    }
    return value;
}

static int64_t take_signed(struct reader *r)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte = 0;

    while (r->at < r->end) {
        byte = *r->at++;
        value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        shift += 7;
        if (!(byte & 0x80))
            break;
    }
    if (byte & 0x40 && shift < 64)
        value |= ~UINT64_C(0) << shift;
    return (int64_t)value;
}

/* Size of a pointer of an encoding; 0: of another length than fixed. */
static unsigned pointer_size(unsigned encoding)
{
    static const uint8_t sizes[16] = {8, 0, 2, 4, 8, 0, 0, 0, 0, 0, 2, 4, 8, 0, 0, 0};

    return sizes[encoding & 15];
}

/* An address: absolute, or from where it stands. Return: false for another encoding. */
static bool take_address(struct reader *r, unsigned encoding, uintptr_t *ret)
{
    unsigned size = pointer_size(encoding);
    uintptr_t here = (uintptr_t)r->at;

    if (!size || (encoding & 0xf0 & ~0x10u) != 0)
        return false;
    uint64_t value = take(r, size);
    if (encoding & 8 && size < 8)
        value = (uint64_t)((int64_t)(value << (64 - 8 * size)) >> (64 - 8 * size));
    *ret = (encoding & 0x10 ? here : 0) + value;
    return true;
}

/* --- the entries of a function */

struct entry {
    struct reader first, then; /* what a function begins with, and its own */
    uintptr_t start, size;
    uint64_t code_unit;
    int64_t data_unit;
    bool is_signal; /* its caller was interrupted: the registers are elsewhere */
};

static struct reader entry_at(const uint8_t *at)
{
    struct reader r = {at, at + 4};
    uint64_t size = take(&r, 4);

    r.end = size < 0xfffffff0 ? r.at + size : r.at;
    return r;
}

/* What entries of functions have in common. Return: the encoding of their addresses, or negative.
 */
static int read_common(const uint8_t *at, struct entry *entry)
{
    struct reader r = entry_at(at);
    int encoding = 0;

    if (take(&r, 4) != 0)
        return -1;
    unsigned version = (unsigned)take(&r, 1);
    const char *letters = (const char *)r.at;
    size_t length = strnlen(letters, (size_t)(r.end - r.at));
    if ((version != 1 && version != 3) || (length && letters[0] != 'z'))
        return -1;
    r.at += length + 1;
    entry->code_unit = take_unsigned(&r);
    entry->data_unit = take_signed(&r);
    if ((version == 1 ? take(&r, 1) : take_unsigned(&r)) != RETURN_ADDRESS)
        return -1;
    const uint8_t *after = r.at;
    if (length) {
        uint64_t more = take_unsigned(&r);
        if (more > (uint64_t)(r.end - r.at))
            return -1;
        after = r.at + more;
    }
    for (size_t i = 1; i < length; i++) {
        if (letters[i] == 'R') {
            encoding = (int)take(&r, 1);
        } else if (letters[i] == 'L') {
            take(&r, 1);
        } else if (letters[i] == 'P') {
            unsigned size = pointer_size((unsigned)take(&r, 1));
            if (!size)
                return -1;
            take(&r, size);
        } else if (letters[i] == 'S') {
            entry->is_signal = true;
        } else {
            return -1;
        }
    }
    entry->first = (struct reader){after, r.end};
    return encoding;
}

static bool read_entry(const uint8_t *at, struct entry *entry)
{
    struct reader r = entry_at(at);
    const uint8_t *pointer = r.at;
    uint64_t back = take(&r, 4);
    uintptr_t size;

    if (!back)
        return false;
    int encoding = read_common(pointer - back, entry);
    if (encoding < 0 || !take_address(&r, (unsigned)encoding, &entry->start) ||
        !take_address(&r, (unsigned)encoding & 15, &size))
        return false;
    entry->size = size;
    uint64_t more = take_unsigned(&r);
    if (more > (uint64_t)(r.end - r.at))
        return false;
    entry->then = (struct reader){r.at + more, r.end};
    return true;
}

/* By the header's table: the last function that begins at @pc or before. */
static const uint8_t *look_up(const uint8_t *header, uintptr_t pc)
{
    struct reader r = {header, header + 4 + 8 + 8};

    /* version 1; a table sorted by address, of pairs of four bytes, from the header on */
    if (take(&r, 1) != 1)
        return NULL;
    unsigned pointer = (unsigned)take(&r, 1), counting = (unsigned)take(&r, 1);
    if (take(&r, 1) != 0x3b || !pointer_size(pointer) || counting != 3)
        return NULL;
    take(&r, pointer_size(pointer));
    size_t count = take(&r, 4), low = 0, high = count;
    const uint8_t *table = r.at;
    int64_t wanted = (int64_t)(pc - (uintptr_t)header);
    int32_t pair[2];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        memcpy(pair, table + middle * sizeof(pair), sizeof(pair));
        if (pair[0] <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return NULL;
    memcpy(pair, table + (low - 1) * sizeof(pair), sizeof(pair));
    return header + pair[1];
}

/* --- their instructions */

struct state {
    struct tp_unwind_rule rule;
    int64_t offset, frame_offset; /* frame_offset: from the caller's stack */
    bool is_odd;                  /* told in other terms */
    bool ends;                    /* no return address */
};

struct machine {
    struct state now, first, kept[STATES_MAX];
    unsigned kept_count;
    uintptr_t at;
};

static void set_base(struct state *s, uint64_t reg, int64_t offset)
{
    s->is_odd = reg != STACK_REGISTER && reg != FRAME_REGISTER;
    s->rule.base = reg == FRAME_REGISTER ? TP_UNWIND_FRAME : TP_UNWIND_STACK;
    s->offset = offset;
}

static void set_saved(struct state *s, uint64_t reg, int64_t offset)
{
    if (reg == FRAME_REGISTER) {
        s->rule.frame = TP_UNWIND_BELOW;
        s->frame_offset = offset;
    } else if (reg == RETURN_ADDRESS) {
        s->ends = offset != RETURN_BELOW;
    }
}

/* A register that is not where it was, nor saved in a way of ours. */
static void set_odd(struct state *s, uint64_t reg)
{
    if (reg == FRAME_REGISTER)
        s->is_odd = true;
    if (reg == RETURN_ADDRESS)
        s->ends = true;
}

static void restore(struct machine *m, uint64_t reg)
{
    if (reg == FRAME_REGISTER) {
        m->now.rule.frame = m->first.rule.frame;
        m->now.frame_offset = m->first.frame_offset;
    } else if (reg == RETURN_ADDRESS) {
        m->now.ends = m->first.ends;
    }
}

static struct reader take_block(struct reader *r)
{
    uint64_t size = take_unsigned(r);
    struct reader block = {r->at, r->end};

    if (size < (uint64_t)(r->end - r->at))
        block.end = r->at + size;
    r->at = block.end;
    return block;
}

/* The word at a distance from the frame pointer: functions that align their stack. */
static void set_base_by_expression(struct state *s, struct reader block)
{
    bool is_frame = take(&block, 1) == 0x76; /* DW_OP_breg6 */

    s->offset = take_signed(&block);
    s->is_odd = !is_frame || take(&block, 1) != 0x06 /* DW_OP_deref */ || block.at != block.end;
    s->rule.base = TP_UNWIND_SAVED;
}

static void set_saved_by_expression(struct state *s, uint64_t reg, struct reader block)
{
    if (reg == FRAME_REGISTER && take(&block, 1) == 0x76 && take_signed(&block) == 0 &&
        block.at == block.end)
        s->rule.frame = TP_UNWIND_AT_FRAME;
    else
        set_odd(s, reg);
}

/* The instructions of one byte and their arguments. Return: false for one that is not known. */
static bool run_one(struct machine *m, struct reader *r, unsigned code, const struct entry *entry)
{
    struct state *now = &m->now;
    uint64_t reg;

    switch (code) {
    case 0x00: /* nop */
        return true;
    case 0x02: /* advance_loc1 */
    case 0x03:
    case 0x04:
        m->at += take(r, 1u << (code - 2)) * entry->code_unit;
        return true;
    case 0x05: /* offset_extended */
        reg = take_unsigned(r);
        set_saved(now, reg, (int64_t)take_unsigned(r) * entry->data_unit);
        return true;
    case 0x06: /* restore_extended */
        restore(m, take_unsigned(r));
        return true;
    case 0x07: /* undefined */
        set_odd(now, take_unsigned(r));
        return true;
    case 0x08: /* same_value */
        if (take_unsigned(r) == FRAME_REGISTER)
            now->rule.frame = TP_UNWIND_SAME;
        return true;
    case 0x09: /* register */
        set_odd(now, take_unsigned(r));
        take_unsigned(r);
        return true;
    case 0x0a: /* remember_state */
        if (m->kept_count == STATES_MAX)
            return false;
        m->kept[m->kept_count++] = *now;
        return true;
    case 0x0b: /* restore_state */
        if (!m->kept_count)
            return false;
        *now = m->kept[--m->kept_count];
        return true;
    case 0x0c: /* def_cfa */
        reg = take_unsigned(r);
        set_base(now, reg, (int64_t)take_unsigned(r));
        return true;
    case 0x0d: /* def_cfa_register */
        set_base(now, take_unsigned(r), now->offset);
        return true;
    case 0x0e: /* def_cfa_offset */
        now->offset = (int64_t)take_unsigned(r);
        return true;
    case 0x0f: /* def_cfa_expression */
        set_base_by_expression(now, take_block(r));
        return true;
    case 0x10: /* expression */
        reg = take_unsigned(r);
        set_saved_by_expression(now, reg, take_block(r));
        return true;
    case 0x11: /* offset_extended_sf */
        reg = take_unsigned(r);
        set_saved(now, reg, take_signed(r) * entry->data_unit);
        return true;
    case 0x12: /* def_cfa_sf */
        reg = take_unsigned(r);
        set_base(now, reg, take_signed(r) * entry->data_unit);
        return true;
    case 0x13: /* def_cfa_offset_sf */
        now->offset = take_signed(r) * entry->data_unit;
        return true;
    case 0x14: /* val_offset */
        set_odd(now, take_unsigned(r));
        take_unsigned(r);
        return true;
    case 0x15: /* val_offset_sf */
        set_odd(now, take_unsigned(r));
        take_signed(r);
        return true;
    case 0x16: /* val_expression */
        set_odd(now, take_unsigned(r));
        take_block(r);
        return true;
    case 0x2e: /* GNU_args_size */
        take_unsigned(r);
        return true;
    default:
        return false;
    }
}

/* Up to the instruction at @pc. */
static bool run(struct machine *m, struct reader r, const struct entry *entry, uintptr_t pc)
{
    while (r.at < r.end) {
        unsigned code = *r.at++, low = code & 0x3f;
        struct state before = m->now;
        switch (code & 0xc0) {
        case 0x40:
            m->at += low * entry->code_unit;
            break;
        case 0x80:
            set_saved(&m->now, low, (int64_t)take_unsigned(&r) * entry->data_unit);
            break;
        case 0xc0:
            restore(m, low);
            break;
        default:
            if (!run_one(m, &r, code, entry))
                return false;
        }
        if (m->at > pc) {
            m->now = before;
            return true;
        }
    }
    return true;
}

static struct tp_unwind_rule rule_of(const struct state *s)
{
    struct tp_unwind_rule rule = s->rule;

    if (s->is_odd || s->ends || s->offset % 8 || s->offset / 8 >= 1 << 14 ||
        s->offset / 8 < -(1 << 14))
        return (struct tp_unwind_rule){.base = TP_UNWIND_END};
    rule.offset = (int32_t)s->offset;
    if (rule.frame == TP_UNWIND_BELOW) {
        if (s->frame_offset > 0 || s->frame_offset % 8 || -s->frame_offset / 8 >= 1 << 10)
            return (struct tp_unwind_rule){.base = TP_UNWIND_END};
        rule.frame_below = (uint32_t)-s->frame_offset;
    }
    return rule;
}

/* mov $15, %rax, of either length, and syscall. */
bool tp_unwind_is_signal_return(uintptr_t pc)
{
    uint64_t code;

    return tp_os_read_memory(&code, &pc, 1) != 1 || code == UINT64_C(0x0f0000000fc0c748) ||
           (code & UINT64_C(0xffffffffffffff)) == UINT64_C(0x050f0000000fb8);
}

/* What is told of the function at @pc. Return: false: nothing. */
static bool find_entry(uintptr_t pc, struct entry *entry)
{
    struct tp_mapped_object object;

    if (!tp_mapped_object(pc, &object) || !object.eh_frame_header)
        return false;
    const uint8_t *at = look_up(object.eh_frame_header, pc);
    /* between functions is code that says nothing of itself */
    return at && read_entry(at, entry) && pc - entry->start < entry->size;
}

struct tp_unwind_rule tp_unwind_find(uintptr_t pc)
{
    static const struct tp_unwind_rule chain = {.base = TP_UNWIND_CHAIN},
                                       end = {.base = TP_UNWIND_END},
                                       signal = {.base = TP_UNWIND_SIGNAL};
    struct machine m = {0};
    struct entry entry = {0};

    if (!find_entry(pc, &entry))
        return tp_unwind_is_signal_return(pc + 1) ? signal : chain;
    if (entry.is_signal)
        return signal;
    if (!run(&m, entry.first, &entry, UINTPTR_MAX))
        return end;
    m.first = m.now;
    m.at = entry.start;
    return run(&m, entry.then, &entry, pc) ? rule_of(&m.now) : end;
}

uint32_t tp_unwind_learn(uintptr_t pc)
{
    struct tp_unwind_rule rule = tp_unwind_find(pc - 1);
    uint64_t key = tp_unwind_key(pc);
    uint32_t packed = (uint32_t)rule.base | (uint32_t)rule.frame << 3 |
                      ((uint32_t)(rule.offset / 8) & 0x7fff) << 5 | rule.frame_below / 8 << 20;

    atomic_store_explicit(&tp_unwind_table[key >> (64 - TP_UNWIND_INDEX_BITS)],
                          key << TP_UNWIND_INDEX_BITS | packed, memory_order_relaxed);
    return packed;
}

void tp_unwind_start(void)
{
    if (!tp_unwind_table && tp_mapped_has_index())
        tp_unwind_table = tp_os_map(sizeof(*tp_unwind_table) << TP_UNWIND_INDEX_BITS);
}

#else

struct tp_unwind_rule tp_unwind_find(uintptr_t pc)
{
    (void)pc;
    return (struct tp_unwind_rule){.base = TP_UNWIND_CHAIN};
}

uint32_t tp_unwind_learn(uintptr_t pc)
{
    (void)pc;
    return TP_UNWIND_CHAIN;
}

bool tp_unwind_is_signal_return(uintptr_t pc)
{
    (void)pc;
    return false;
}

void tp_unwind_start(void)
{
}

#endif
