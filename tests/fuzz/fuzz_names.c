/* SPDX-License-Identifier: MIT
 *
 * A names file behind a good header. Where the first byte is odd, records that follow each other
 * get good checksums.
 */
#include "fuzz_trace.h"

#include <string.h>

#include "event/names.h"
#include "trace/file.h"
#include "trace/wire.h"

static void seal_records(uint8_t *bytes, size_t size)
{
    size_t at = TP_FILE_HEADER_BYTES;

    while (size - at >= sizeof(struct tp_name_record)) {
        struct tp_name_record record;
        memcpy(&record, bytes + at, sizeof(record));
        if (record.length > size - at - sizeof(record))
            return;
        uint32_t sum = tp_name_checksum(&record, bytes + at + sizeof(record));
        tp_wire_store_u32(bytes + at + 12, sum);
        size_t stride = (sizeof(record) + record.length + 7) & ~(size_t)7;
        if (stride > size - at)
            return;
        at += stride;
    }
}

static void read_all(const uint8_t *bytes, size_t size)
{
    struct tp_names *names;
    struct tp_name name;
    struct tp_diag diag = {0};
    uint32_t found = 0;

    if (tp_names_open(&names, bytes, size, NULL, &diag))
        return;
    FUZZ_CHECK(tp_names_highest(names) < TP_NAME_FIRST + TP_NAME_LIMIT);
    for (uint32_t id = TP_NAME_FIRST; id <= tp_names_highest(names); id++)
        if (tp_names_get(names, id, &name)) {
            const uint8_t *start = (const uint8_t *)name.bytes;
            FUZZ_CHECK(start >= bytes + TP_FILE_HEADER_BYTES && start + name.size <= bytes + size);
            found++;
        }
    FUZZ_CHECK(found == tp_names_count(names));
    FUZZ_CHECK(!tp_names_get(names, tp_names_highest(names) + 1 + TP_NAME_FIRST, &name));
    tp_names_close(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t uuid[16] = {1, 2, 3, 4};

    if (size < 1)
        return 0;
    size_t total = TP_FILE_HEADER_BYTES + size - 1;
    uint8_t *bytes = malloc(total);
    tp_file_header_write(bytes, TP_NAMES_MAGIC, uuid, 0);
    memcpy(bytes + TP_FILE_HEADER_BYTES, data + 1, size - 1);
    if (data[0] & 1)
        seal_records(bytes, total);
    read_all(bytes, total);
    free(bytes);
    return 0;
}
