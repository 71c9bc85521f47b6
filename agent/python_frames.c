/* SPDX-License-Identifier: MIT */
#include "python_frames.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/text.h"
#include "elf_symbol.h"
#include "mapped.h"
#include "pool.h"
#include "record.h"
#include "sources.h"

#define PAGE ((uintptr_t)4096)
#define NO_FIELD 0xffffu
#define OWNED_BY_C_STACK 3u /* from 3.12 on: a frame that stands for the C code between others */
#define MARK "PyGILState_GetThisThreadState" /* who has it is an interpreter */
#define CHUNKS_MAX 64u                       /* of frames of a thread that are looked through */

/* Same in all versions: an object's type, a string's length and hash, a chunk's next and size. */
#define TYPE_FIELD 8u
#define LENGTH_FIELD 16u
#define HASH_FIELD 24u
#define CHUNK_SIZE_FIELD 8u

/* Where an instruction's number comes from. */
enum counting {
    COUNTS_BYTES,  /* an int */
    COUNTS_WORDS,  /* an int, of two bytes each */
    COUNTS_ADDRESS /* a pointer into the code object */
};

/* Offsets in the structures of one minor version, whose layout no release of it changes. */
struct layout {
    unsigned minor;
    struct {
        uint16_t frame, chunk; /* chunk: of its frames' memory; NO_FIELD: frames are objects */
    } thread;
    uint16_t current; /* of what thread.frame points to: the frame; NO_FIELD: it is the frame */
    struct {
        uint16_t code, previous, instruction, owner;
        enum counting counting;
    } frame;
    struct {
        uint16_t file, name, first_line, instructions;
    } code;
};

static const struct layout layouts[] = {
    {8, {24, NO_FIELD}, NO_FIELD, {32, 24, 104, NO_FIELD, COUNTS_BYTES}, {104, 112, 40, 0}},
    {9, {24, NO_FIELD}, NO_FIELD, {32, 24, 104, NO_FIELD, COUNTS_BYTES}, {104, 112, 40, 0}},
    {10, {24, NO_FIELD}, NO_FIELD, {32, 24, 96, NO_FIELD, COUNTS_WORDS}, {104, 112, 40, 0}},
    {11, {56, 296}, 8, {32, 48, 56, NO_FIELD, COUNTS_ADDRESS}, {112, 128, 72, 184}},
    {12, {56, 232}, 0, {0, 8, 56, 70, COUNTS_ADDRESS}, {112, 128, 68, 192}},
    {13, {72, 232}, NO_FIELD, {0, 8, 56, 70, COUNTS_ADDRESS}, {112, 128, 68, 200}},
};

/* Set once, at start or where one is met later; the layout is taken away again when it turns out
 * wrong. */
static struct {
    const struct layout *_Atomic layout; /* NULL: no Python, or one that is not known */
    _Atomic bool is_found, believed;
    const struct link_map *object; /* that may be unloaded; NULL: was there at start */
    uintptr_t (*get_thread)(void);
    int (*is_finalizing)(void);
    int (*get_line)(uintptr_t code, int at);
    ptrdiff_t (*get_length)(uintptr_t string);
    uint32_t (*read_character)(uintptr_t string, ptrdiff_t at);
    uintptr_t code_type, string_type, loop, loop_size;
} python;

/* ---- start ---- */

static bool find(void *ret_function, const char *name)
{
    uintptr_t address = 0;

    if (python.object)
        tp_elf_symbol(python.object, name, &address, NULL);
    else
        address = (uintptr_t)dlsym(RTLD_DEFAULT, name);
    memcpy(ret_function, &address, sizeof(address));
    return address != 0;
}

static unsigned find_minor(void)
{
    const char *(*get_version)(void);

    if (!find(&get_version, "Py_GetVersion"))
        return 0;
    const char *version = get_version();
    return version && !strncmp(version, "3.", 2) ? (unsigned)strtoul(version + 2, NULL, 10) : 0;
}

/* musl has none, and takes this library only if all of its other symbols resolve. */
extern __typeof__(dladdr1) dladdr1 __attribute__((weak));

/* Without it native stacks go on below Python's code. */
static void find_loop(void)
{
    static const char name[] = "_PyEval_EvalFrameDefault";
    const ElfW(Sym) *symbol = NULL;
    Dl_info info;

    if (python.object)
        tp_elf_symbol(python.object, name, &python.loop, &python.loop_size);
    else if (find(&python.loop, name) && dladdr1 &&
             dladdr1((void *)python.loop, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol)
        python.loop_size = symbol->st_size;
}

/* Return: NULL, or why its frames cannot be read. */
static const char *find_python(void)
{
    unsigned minor;

    if (!find(&python.get_thread, MARK) || !(minor = find_minor()) ||
        (!find(&python.is_finalizing, "Py_IsFinalizing") &&
         !find(&python.is_finalizing, "_Py_IsFinalizing")) ||
        !find(&python.get_line, "PyCode_Addr2Line") ||
        !find(&python.get_length, "PyUnicode_GetLength") ||
        !find(&python.read_character, "PyUnicode_ReadChar") ||
        !find(&python.code_type, "PyCode_Type") || !find(&python.string_type, "PyUnicode_Type"))
        return NULL;
    atomic_store(&python.is_found, true);
    find_loop();
    for (unsigned i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
        if (layouts[i].minor == minor)
            atomic_store(&python.layout, &layouts[i]);
    return atomic_load(&python.layout)
               ? NULL
               : "stacks without Python frames: the layout of this Python is not known";
}

const char *tp_python_frames_start(void)
{
    return find_python();
}

/* ---- one that is loaded later ---- */

#define OBJECTS_SEEN 256u

static const struct link_map *object_at(uintptr_t address)
{
    struct tp_mapped_object object;

    return tp_mapped_object(address, &object) ? object.map : NULL;
}

/* Whether @object is none that was looked at before. */
static bool is_new(const struct link_map *object)
{
    static _Atomic uintptr_t seen[OBJECTS_SEEN];
    uintptr_t what = ((uintptr_t)object ^ object->l_addr) | 1;
    _Atomic uintptr_t *place = &seen[what * UINT64_C(0x9e3779b97f4a7c15) >> 56];

    return atomic_exchange_explicit(place, what, memory_order_relaxed) != what;
}

static void take_python(const struct link_map *object)
{
    static atomic_flag taken = ATOMIC_FLAG_INIT;

    if (atomic_flag_test_and_set(&taken))
        return;
    python.object = object;
    const char *lack = find_python();
    atomic_store(&python.is_found, true);
    if (lack)
        tp_source_say(TP_SOURCE_MALLOC, TP_SOURCE_STARTED, lack);
}

void tp_python_frames_meet(const uintptr_t *addresses, unsigned count)
{
    const struct link_map *last = NULL;
    uintptr_t mark;

    if (atomic_load_explicit(&python.is_found, memory_order_relaxed))
        return;
    for (unsigned i = 0; i < count; i++) {
        const struct link_map *object = object_at(addresses[i]);
        if (!object || object == last)
            continue;
        last = object;
        if (is_new(object) && tp_elf_symbol(object, MARK, &mark, NULL)) {
            take_python(object);
            return;
        }
    }
}

/* Threads that ask an interpreter which may be unloaded, and calls that may unload it: none begins
 * to ask while there is such a call, and none of those goes on while one asks. */
static _Atomic uint32_t asking, unloading;

/* Return: whether it may be asked; then end_asking must follow. */
static inline bool begin_asking(void)
{
    if (tp_likely(!python.object))
        return true;
    atomic_fetch_add(&asking, 1);
    if (!atomic_load(&unloading) && object_at((uintptr_t)python.get_thread) == python.object)
        return true;
    atomic_fetch_sub(&asking, 1);
    return false;
}

static inline void end_asking(void)
{
    if (tp_unlikely(python.object != NULL))
        atomic_fetch_sub(&asking, 1);
}

#define UNLOAD_WAITS 1000u /* of a millisecond; one that asks takes microseconds */

void tp_python_frames_unload(void)
{
    unsigned waits = 0;

    atomic_fetch_add(&unloading, 1);
    while (atomic_load(&asking) && waits++ < UNLOAD_WAITS)
        tp_os_wait(&asking, atomic_load(&asking), 1000000);
    if (waits > UNLOAD_WAITS) { /* one was ended meanwhile: no more of this */
        atomic_store(&python.layout, NULL);
        atomic_store(&asking, 0);
    }
}

void tp_python_frames_unloaded(void)
{
    atomic_fetch_sub(&unloading, 1);
}

void tp_python_frames_fork_child(void)
{
    atomic_store(&asking, 0);
    atomic_store(&unloading, 0);
}

bool tp_python_runs_at(uintptr_t address)
{
    return address - python.loop < python.loop_size;
}

/* ---- frames ---- */

static inline uintptr_t word_at(uintptr_t address)
{
    uintptr_t word;

    __builtin_memcpy(&word, (const void *)address, sizeof(word));
    return word;
}

static inline int32_t int_at(uintptr_t address)
{
    int32_t value;

    __builtin_memcpy(&value, (const void *)address, sizeof(value));
    return value;
}

static bool is_in_chunk(const struct layout *layout, uintptr_t thread, uintptr_t frame)
{
    uintptr_t chunk = word_at(thread + layout->thread.chunk);

    for (unsigned i = 0; chunk && i < CHUNKS_MAX; i++) {
        if (frame - chunk < word_at(chunk + CHUNK_SIZE_FIELD))
            return true;
        chunk = word_at(chunk);
    }
    return false;
}

/* The innermost frame. A signal handler may come between two stores of the interpreter, so what
 * does not lie among the thread's frames, as a generator's, is read with care first. */
static uintptr_t find_first(const struct layout *layout, uintptr_t thread)
{
    uintptr_t frame = word_at(thread + layout->thread.frame);
    uint64_t fields[2], code;

    if (frame && layout->current != NO_FIELD)
        frame = word_at(frame + layout->current);
    if (!frame || layout->thread.chunk == NO_FIELD || is_in_chunk(layout, thread, frame))
        return frame;
    const uintptr_t addresses[2] = {frame + layout->frame.code, frame + layout->frame.previous};
    if (frame % sizeof(frame) || frame < PAGE || tp_os_read_memory(fields, addresses, 2) != 2)
        return 0;
    const uintptr_t type = (uintptr_t)fields[0] + TYPE_FIELD;
    return tp_os_read_memory(&code, &type, 1) == 1 ? frame : 0;
}

static inline int32_t instruction_of(const struct layout *layout, uintptr_t frame, uintptr_t code)
{
    uintptr_t field = frame + layout->frame.instruction;

    switch (layout->frame.counting) {
    case COUNTS_BYTES:
        return int_at(field);
    case COUNTS_WORDS:
        return int_at(field) * 2;
    default:
        return (int32_t)(word_at(field) - (code + layout->code.instructions));
    }
}

/*
 * What tells a frame from any other. A code object's place is soon another one's; with its texts
 * and its line it is told apart. Independent products, so that they are made side by side.
 */
static inline uint64_t fold(const struct layout *layout, uintptr_t code, int32_t at)
{
    uintptr_t file = word_at(code + layout->code.file), name = word_at(code + layout->code.name);
    uint64_t line = (uint32_t)int_at(code + layout->code.first_line);

    return code * UINT64_C(0x9e3779b97f4a7c15) + file * UINT64_C(0xd6e8feb86659fd93) +
           word_at(name + HASH_FIELD) * UINT64_C(0xa0761d6478bd642f) +
           (line << 32 | (uint32_t)at) * UINT64_C(0xe7037ed1a0b428db) +
           (word_at(name + LENGTH_FIELD) << 32 ^ word_at(file + LENGTH_FIELD));
}

uint64_t tp_python_frame_key(const struct tp_python_frame *frame)
{
    const struct layout *layout = atomic_load_explicit(&python.layout, memory_order_relaxed);

    return layout ? fold(layout, frame->code, frame->at) : 0;
}

static void disbelieve(void)
{
    if (atomic_load(&python.believed))
        return;
    atomic_store(&python.layout, NULL);
    tp_source_say(TP_SOURCE_MALLOC, TP_SOURCE_STARTED,
                  "stacks without Python frames: they could not be read");
}

static inline bool is_code(uintptr_t object)
{
    if (object >= PAGE && object % sizeof(object) == 0 &&
        word_at(object + TYPE_FIELD) == python.code_type)
        return true;
    disbelieve();
    return false;
}

static unsigned read_frames(const struct layout *layout, struct tp_python_frame *frames,
                            unsigned depth, uint64_t *ret_hash)
{
    uintptr_t thread = python.get_thread();
    uint64_t hash = *ret_hash;
    unsigned n = 0;

    if (!thread || python.is_finalizing())
        return 0;
    for (uintptr_t frame = find_first(layout, thread); frame && n < depth;
         frame = word_at(frame + layout->frame.previous)) {
        if (layout->frame.owner != NO_FIELD &&
            *(const uint8_t *)(frame + layout->frame.owner) == OWNED_BY_C_STACK)
            continue;
        uintptr_t code = word_at(frame + layout->frame.code);
        if (!is_code(code))
            break;
        frames[n].code = code;
        frames[n].at = instruction_of(layout, frame, code);
        hash = (hash ^ fold(layout, code, frames[n].at)) * UINT64_C(0xbf58476d1ce4e5b9);
        hash ^= hash >> 29;
        n++;
    }
    *ret_hash = hash;
    if (n && !atomic_load_explicit(&python.believed, memory_order_relaxed))
        atomic_store(&python.believed, true);
    return n;
}

unsigned tp_python_frames(struct tp_python_frame *frames, unsigned depth, uint64_t *ret_hash)
{
    const struct layout *layout = atomic_load_explicit(&python.layout, memory_order_acquire);

    if (tp_likely(!layout) || !begin_asking())
        return 0;
    unsigned count = read_frames(layout, frames, depth, ret_hash);
    end_asking();
    return count;
}

/* ---- names ---- */

/* Names of files may hold bytes that were no UTF-8: Python keeps them as lone surrogates. */
static unsigned encode(uint32_t c, char *to)
{
    if (c >= 0xdc80 && c <= 0xdcff) {
        to[0] = (char)(c & 0xff);
        return 1;
    }
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    unsigned more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    to[0] = (char)(first[more] | c >> 6 * more);
    for (unsigned i = 1; i <= more; i++)
        to[i] = (char)(0x80 | (c >> 6 * (more - i) & 0x3f));
    return more + 1;
}

static void put_string(struct tp_text *text, uintptr_t string)
{
    ptrdiff_t length = 0;
    char bytes[4];

    if (string && word_at(string + TYPE_FIELD) == python.string_type)
        length = python.get_length(string);
    for (ptrdiff_t i = 0; i < length && text->size - text->used > sizeof(bytes); i++)
        tp_text_bytes(text, bytes, encode(python.read_character(string, i), bytes));
}

uint32_t tp_python_frame_id(const struct tp_python_frame *frame)
{
    const struct layout *layout = atomic_load_explicit(&python.layout, memory_order_relaxed);
    char *scratch = layout ? tp_scratch_take() : NULL;
    struct tp_text text;

    if (!scratch)
        return TP_NAME_NO_ROOM;
    tp_text_init(&text, scratch, TP_NAME_LENGTH_LIMIT / 2);
    put_string(&text, word_at(frame->code + layout->code.file));
    tp_text_bytes(&text, "", 1);
    tp_text_format(&text, "%d", python.get_line(frame->code, frame->at));
    tp_text_bytes(&text, "", 1);
    text.size = TP_NAME_LENGTH_LIMIT;
    put_string(&text, word_at(frame->code + layout->code.name));
    uint32_t id = tp_intern(TP_NAME_CODE, text.data, text.used);
    tp_scratch_give(scratch);
    return id;
}
