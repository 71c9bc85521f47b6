/* SPDX-License-Identifier: MIT
 * Debug information by libdw of elfutils.
 *
 * A unit's ranges of addresses are read when the file is opened; its entries are walked once, when
 * the first address in it is asked for, and leave which function and which inlined one lies where.
 * libdw's own search would walk the unit for each address. It also opens files that a unit names
 * (split units); none of the functions that do are called here: of a split unit there are lines
 * only. Nothing is asked over a network: that would be libdwfl.
 *
 * A damaged file cannot hold the walk up: an entry is taken only if it lies behind the one before.
 */
#include "input/lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX TPTRACE_PLACES_MAX
/* A sound file has no more ranges of addresses than bytes; but these may be compressed. */
#define RANGES_PER_BYTE 16
#define RANGES_LEAST 65536
#define READ_BYTES_MAX (UINT64_C(64) << 20)

/* Addresses of unit, function or inlined function number @of. */
struct span {
    uint64_t low, high; /* behind the last */
    uint64_t reach;     /* highest @high up to here, once they are sorted */
    uint32_t of;
};

struct spans {
    struct span *items;
    size_t count, capacity;
};

struct function {
    Dwarf_Off entry;
    size_t first_inlined, end_inlined; /* among the unit's spans */
};

struct inlined {
    Dwarf_Off entry;
    uint32_t function; /* it was inlined into */
};

struct unit {
    Dwarf_Die die;
    bool is_split, is_walked;
    struct function *functions;
    size_t function_count, function_capacity;
    struct spans function_spans; /* ascending */
    struct inlined *inlined;
    size_t inlined_count, inlined_capacity;
    struct spans inlined_spans; /* outer ones before inner ones */
};

struct tptrace_lines {
    char *path;
    Elf *elf, *supplement_elf;
    Dwarf *dwarf, *supplement;
    struct unit *units;
    size_t unit_count, unit_capacity;
    struct spans unit_spans;
    uint64_t ranges_left; /* more are damage */
    struct tp_diag trouble;
};

bool tptrace_lines_are_read(void)
{
    return true;
}

static int fail(struct tptrace_lines *lines, const char *what)
{
    const char *text = dwarf_errmsg(-1);

    if (lines->trouble.code)
        return lines->trouble.code;
    tp_diag_fail(&lines->trouble, -TP_ECORRUPT, TP_DIAG_NO_OFFSET, "%s: %s", what,
                 text ? text : "damaged");
    return tp_diag_at(&lines->trouble, lines->path);
}

/* ---- spans ---- */

/* Room for one more of @size bytes. */
static int grow(void *items, size_t count, size_t *capacity, size_t size)
{
    void **array = items;

    if (count < *capacity)
        return 0;
    size_t more = *capacity ? *capacity * 2 : 32;
    void *grown = more < UINT32_MAX ? realloc(*array, more * size) : NULL;
    if (!grown)
        return -ENOMEM;
    *array = grown;
    *capacity = more;
    return 0;
}

static int add_span(struct spans *spans, uint64_t low, uint64_t high, uint32_t of)
{
    if (grow(&spans->items, spans->count, &spans->capacity, sizeof(*spans->items)))
        return -ENOMEM;
    spans->items[spans->count++] = (struct span){.low = low, .high = high, .of = of};
    return 0;
}

/* The addresses of an entry, if it has any. Code that the linker left out lies at 0 and is none. */
static int add_ranges(struct tptrace_lines *lines, Dwarf_Die *die, struct spans *spans, uint32_t of)
{
    Dwarf_Addr base, low, high;
    ptrdiff_t at = 0;

    while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
        if (!lines->ranges_left--) {
            lines->ranges_left = 0;
            return fail(lines, "ranges of addresses that overlap");
        }
        if (low && low < high && add_span(spans, low, high, of))
            return -ENOMEM;
    }
    return at < 0 ? fail(lines, "ranges of addresses") : 0;
}

static int compare_spans(const void *a, const void *b)
{
    const struct span *left = a, *right = b;

    if (left->low != right->low)
        return left->low < right->low ? -1 : 1;
    if (left->high != right->high)
        return left->high > right->high ? -1 : 1;
    return (left->of > right->of) - (left->of < right->of);
}

static void sort_spans(struct spans *spans)
{
    uint64_t reach = 0;

    if (spans->count)
        qsort(spans->items, spans->count, sizeof(*spans->items), compare_spans);
    for (size_t i = 0; i < spans->count; i++) {
        reach = spans->items[i].high > reach ? spans->items[i].high : reach;
        spans->items[i].reach = reach;
    }
}

/* The one that begins last of those that hold @address. */
static const struct span *find_span(const struct spans *spans, uint64_t address)
{
    size_t low = 0, high = spans->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (spans->items[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low && spans->items[low - 1].reach > address; low--) {
        if (spans->items[low - 1].high > address)
            return &spans->items[low - 1];
    }
    return NULL;
}

/* ---- units ---- */

static int add_unit(struct tptrace_lines *lines, const Dwarf_Die *die, bool is_split)
{
    struct unit unit = {.die = *die, .is_split = is_split};

    if (grow(&lines->units, lines->unit_count, &lines->unit_capacity, sizeof(unit)))
        return -ENOMEM;
    lines->units[lines->unit_count++] = unit;
    return add_ranges(lines, &unit.die, &lines->unit_spans, (uint32_t)lines->unit_count - 1);
}

static int read_units(struct tptrace_lines *lines)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    uint8_t type;
    int more;

    while (!(more = dwarf_get_units(lines->dwarf, unit, &unit, NULL, &type, &die, NULL))) {
        if (add_unit(lines, &die, type == DW_UT_skeleton) == -ENOMEM)
            return -ENOMEM;
    }
    if (more < 0)
        fail(lines, "units");
    sort_spans(&lines->unit_spans);
    return 0;
}

/* ---- the entries of a unit ---- */

struct walk {
    struct tptrace_lines *lines;
    struct unit *unit;
    Dwarf_Off last; /* entry that was taken */
    uint32_t function;
};

#define NO_FUNCTION UINT32_MAX

static int walk_children(struct walk *w, Dwarf_Die *die, unsigned depth);

static int take_function(struct walk *w, Dwarf_Die *die, unsigned depth)
{
    struct unit *unit = w->unit;
    uint32_t number = (uint32_t)unit->function_count, outer = w->function;
    size_t before = unit->function_spans.count;
    int error = add_ranges(w->lines, die, &unit->function_spans, number);

    if (error)
        return error;
    if (unit->function_spans.count == before) { /* a declaration, or inlined everywhere */
        w->function = NO_FUNCTION;
    } else {
        if (grow(&unit->functions, number, &unit->function_capacity, sizeof(*unit->functions)))
            return -ENOMEM;
        unit->functions[unit->function_count++] = (struct function){
            .entry = dwarf_dieoffset(die), .first_inlined = unit->inlined_spans.count};
        w->function = number;
    }
    error = walk_children(w, die, depth);
    if (w->function != NO_FUNCTION)
        unit->functions[number].end_inlined = unit->inlined_spans.count;
    w->function = outer;
    return error;
}

static int take_inlined(struct walk *w, Dwarf_Die *die, unsigned depth)
{
    struct unit *unit = w->unit;

    if (grow(&unit->inlined, unit->inlined_count, &unit->inlined_capacity, sizeof(*unit->inlined)))
        return -ENOMEM;
    uint32_t number = (uint32_t)unit->inlined_count++;
    unit->inlined[number] =
        (struct inlined){.entry = dwarf_dieoffset(die), .function = w->function};
    int error = add_ranges(w->lines, die, &unit->inlined_spans, number);
    return error ? error : walk_children(w, die, depth);
}

/* Entries of types have no code in them. */
static int take_entry(struct walk *w, Dwarf_Die *die, unsigned depth)
{
    switch (dwarf_tag(die)) {
    case DW_TAG_subprogram:
        return take_function(w, die, depth);
    case DW_TAG_inlined_subroutine:
        return take_inlined(w, die, depth);
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt:
    case DW_TAG_namespace:
    case DW_TAG_module:
        return walk_children(w, die, depth);
    default:
        return 0;
    }
}

static int walk_children(struct walk *w, Dwarf_Die *die, unsigned depth)
{
    Dwarf_Die child;
    int error = 0;

    if (depth == DEPTH_MAX)
        return 0;
    int more = dwarf_child(die, &child);
    while (!more && !error) {
        Dwarf_Off at = dwarf_dieoffset(&child);
        if (at <= w->last)
            return fail(w->lines, "entries in no order");
        w->last = at;
        error = take_entry(w, &child, depth + 1);
        if (!error)
            more = dwarf_siblingof(&child, &child);
    }
    return error ? error : more < 0 ? fail(w->lines, "entries") : 0;
}

/* What was found before damage counts. */
static void walk_unit(struct tptrace_lines *lines, struct unit *unit)
{
    struct walk w = {
        .lines = lines, .unit = unit, .last = dwarf_dieoffset(&unit->die), .function = NO_FUNCTION};

    unit->is_walked = true;
    if (!unit->is_split)
        walk_children(&w, &unit->die, 0);
    sort_spans(&unit->function_spans);
}

/* ---- places ---- */

static const char *name_of(struct tptrace_lines *lines, Dwarf_Off entry)
{
    static const unsigned kinds[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};
    Dwarf_Attribute attribute;
    Dwarf_Die die;

    if (!dwarf_offdie(lines->dwarf, entry, &die))
        return NULL;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (dwarf_attr_integrate(&die, kinds[i], &attribute)) {
            const char *name = dwarf_formstring(&attribute);
            if (name && *name)
                return name;
        }
    }
    return NULL;
}

static uint32_t number_of(Dwarf_Die *die, unsigned kind)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;

    return dwarf_attr(die, kind, &attribute) && !dwarf_formudata(&attribute, &value) &&
                   value <= INT32_MAX
               ? (uint32_t)value
               : 0;
}

/* Where an inlined function was called. */
static void put_call(struct tptrace_lines *lines, struct unit *unit, Dwarf_Off entry,
                     struct tptrace_source_place *place)
{
    Dwarf_Files *files;
    size_t count;
    Dwarf_Die die;

    if (!dwarf_offdie(lines->dwarf, entry, &die))
        return;
    uint32_t file = number_of(&die, DW_AT_call_file);
    if (!dwarf_getsrcfiles(&unit->die, &files, &count) && file < count)
        place->file = dwarf_filesrc(files, file, NULL, NULL);
    place->line = number_of(&die, DW_AT_call_line);
}

static void put_line(struct tptrace_lines *lines, struct unit *unit, uint64_t address,
                     struct tptrace_source_place *place)
{
    Dwarf_Lines *rows;
    size_t count;
    int number;

    if (dwarf_getsrclines(&unit->die, &rows, &count)) {
        if (dwarf_hasattr(&unit->die, DW_AT_stmt_list))
            fail(lines, "lines");
        return;
    }
    Dwarf_Line *row = count ? dwarf_getsrc_die(&unit->die, address) : NULL;
    if (!row)
        return;
    place->file = dwarf_linesrc(row, NULL, NULL);
    place->line = !dwarf_lineno(row, &number) && number > 0 ? (uint32_t)number : 0;
}

/* Those that hold @address, outermost first; of overlapping ones in a damaged file as many as there
 * is room for. */
static size_t find_inlined(const struct unit *unit, uint32_t function, uint64_t address,
                           Dwarf_Off *entries)
{
    const struct function *f = &unit->functions[function];
    size_t count = 0;

    for (size_t i = f->first_inlined; i < f->end_inlined && count + 1 < TPTRACE_PLACES_MAX; i++) {
        const struct span *span = &unit->inlined_spans.items[i];
        const struct inlined *inlined = &unit->inlined[span->of];
        if (address >= span->low && address < span->high && inlined->function == function)
            entries[count++] = inlined->entry;
    }
    return count;
}

size_t tptrace_lines_find(struct tptrace_lines *lines, uint64_t address,
                          struct tptrace_source_place *places)
{
    const struct span *span = find_span(&lines->unit_spans, address);
    Dwarf_Off inlined[TPTRACE_PLACES_MAX];
    size_t count = 0;

    if (!span)
        return 0;
    struct unit *unit = &lines->units[span->of];
    if (!unit->is_walked)
        walk_unit(lines, unit);
    places[0] = (struct tptrace_source_place){0};
    put_line(lines, unit, address, &places[0]);
    span = find_span(&unit->function_spans, address);
    if (!span)
        return places[0].file != NULL;
    for (size_t left = find_inlined(unit, span->of, address, inlined); left-- > 0;) {
        places[count].function = name_of(lines, inlined[left]);
        places[++count] = (struct tptrace_source_place){0};
        put_call(lines, unit, inlined[left], &places[count]);
    }
    places[count].function = name_of(lines, unit->functions[span->of].entry);
    return count + 1;
}

const struct tp_diag *tptrace_lines_trouble(const struct tptrace_lines *lines)
{
    return lines->trouble.code ? &lines->trouble : NULL;
}

/* ---- open and close ---- */

/* The file may be closed afterwards. A small one is read: somebody may write to it, and what is
 * mapped would change or be gone. */
static Dwarf *begin(const struct tptrace_elf *file, Elf **ret_elf)
{
    elf_version(EV_CURRENT);
    *ret_elf =
        elf_begin(file->fd, file->size > READ_BYTES_MAX ? ELF_C_READ_MMAP : ELF_C_READ, NULL);
    return *ret_elf && !elf_cntl(*ret_elf, ELF_C_FDREAD)
               ? dwarf_begin_elf(*ret_elf, DWARF_C_READ, NULL)
               : NULL;
}

static int begin_both(struct tptrace_lines *lines, const struct tptrace_debug_file *file)
{
    lines->dwarf = begin(&file->elf, &lines->elf);
    if (!lines->dwarf)
        return fail(lines, "debug information");
    if (file->supplement.fd < 0)
        return 0;
    lines->supplement = begin(&file->supplement, &lines->supplement_elf);
    if (!lines->supplement)
        return fail(lines, "what it shares with other files");
    dwarf_setalt(lines->dwarf, lines->supplement);
    return 0;
}

int tptrace_lines_open(struct tptrace_lines **ret_lines, const struct tptrace_debug_file *file,
                       struct tp_diag *diag)
{
    struct tptrace_lines *lines = calloc(1, sizeof(*lines));

    if (!lines)
        return tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory for lines");
    lines->path = strdup(file->path);
    lines->ranges_left = file->elf.size * RANGES_PER_BYTE + RANGES_LEAST;
    int error = lines->path ? begin_both(lines, file) : -ENOMEM;
    if (!error)
        error = read_units(lines);
    if (!error) {
        *ret_lines = lines;
        return 0;
    }
    if (error == -ENOMEM)
        tp_diag_fail(&lines->trouble, error, TP_DIAG_NO_OFFSET, "no memory");
    *diag = lines->trouble;
    tptrace_lines_close(lines);
    return error;
}

static void close_unit(struct unit *unit)
{
    free(unit->functions);
    free(unit->function_spans.items);
    free(unit->inlined_spans.items);
    free(unit->inlined);
}

void tptrace_lines_close(struct tptrace_lines *lines)
{
    if (!lines)
        return;
    for (size_t i = 0; i < lines->unit_count; i++)
        close_unit(&lines->units[i]);
    free(lines->units);
    free(lines->unit_spans.items);
    dwarf_end(lines->dwarf);
    dwarf_end(lines->supplement);
    elf_end(lines->elf);
    elf_end(lines->supplement_elf);
    free(lines->path);
    free(lines);
}
