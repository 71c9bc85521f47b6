/* SPDX-License-Identifier: MIT */
#include "view/view.h"

#include <string.h>

#include "base/text.h"

static const struct tp_view views[] = {
#define TP_VIEW(subject, format, function) {TP_VIEW_##subject, format, function},
#include "view/views.def"
#undef TP_VIEW
};

enum { VIEW_COUNT = sizeof(views) / sizeof(views[0]) };

static bool is_of(const struct tp_view *view, enum tp_view_subject subject)
{
    return subject == TP_VIEW_KERNELS ? view->subject >= subject : view->subject == subject;
}

void tp_view_put_formats(enum tp_view_subject subject, const char *between, struct tp_buffer *out)
{
    const char *before = "";

    for (int i = 0; i < VIEW_COUNT; i++) {
        if (!is_of(&views[i], subject))
            continue;
        tp_buffer_format(out, "%s%s", before, views[i].format);
        before = between;
    }
}

const struct tp_view *tp_view_find(enum tp_view_subject subject, const char *format,
                                   struct tp_diag *diag)
{
    char known[128];
    struct tp_text text;

    tp_text_init(&text, known, sizeof(known));
    for (int i = 0; i < VIEW_COUNT; i++) {
        if (!is_of(&views[i], subject))
            continue;
        if (!format || !strcmp(views[i].format, format))
            return &views[i];
        tp_text_format(&text, "%s%s", text.used ? ", " : "", views[i].format);
    }
    tp_diag_fail(diag, -TP_EUNSUPPORTED, TP_DIAG_NO_OFFSET, "no format '%s' here; there is %s",
                 format, known);
    return NULL;
}

const struct tp_average *tp_view_next_row(const struct tp_report *report,
                                          const struct tp_view_options *options, int64_t limit,
                                          size_t *number, int64_t *printed,
                                          struct tp_average *scratch)
{
    for (; *number < report->count && *printed != limit; ++*number) {
        const struct tp_average *row = tp_report_row(report, *number, scratch);
        if (options->top_level_events_only && row->flags & TP_EVENT_HAS_PARENT)
            continue;
        ++*printed;
        return row;
    }
    return NULL;
}

void tp_view_put_head(struct tp_buffer *out, const struct tp_report *report)
{
    tp_buffer_string(out, "{\"version\": 1, \"producer\": \"tpreport " TP_VERSION
                          "\", \"units\": {\"time\": \"ns\", \"memory\": \"bytes\"},\n");
    if (!report->recording)
        return;
    tp_buffer_string(out, "\"recording\": ");
    tp_buffer_bytes(out, report->recording->bytes, report->recording->size);
    tp_buffer_string(out, ",\n");
}
