/* SPDX-License-Identifier: MIT
 * Completion for shells. What follows an option that takes one of few words is known from the other
 * tables: sort keys, formats. */
#include "completion.h"

#include <string.h>

#include "columns.h"
#include "options.h"
#include "view/view.h"

/* ---- words that may stand behind an option ---- */

static void put_sort_keys(struct tp_buffer *out)
{
    for (int i = 0; i < TP_COLUMNS; i++) {
        if (tp_column_is_sortable(i, true))
            tp_buffer_format(out, "%s%s", i ? " " : "", tp_column_get(i)->name);
    }
}

/* Each once. Traces have styles, all else formats. */
static void put_formats(struct tp_buffer *out, bool traces)
{
    static const struct {
        enum tp_view_subject subject;
        const char *format;
    } formats[] = {
#define TP_VIEW(subject, format, function) {TP_VIEW_##subject, format},
#include "view/views.def"
#undef TP_VIEW
    };

    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        size_t before = 0;
        while (before < i && strcmp(formats[before].format, formats[i].format) != 0)
            before++;
        if (before == i && traces == (formats[i].subject == TP_VIEW_TRACE))
            tp_buffer_format(out, "%s%s", out->size ? " " : "", formats[i].format);
    }
}

/* Return: false when anything may follow. */
static bool put_values(struct tp_buffer *out, const char *option)
{
    static const struct {
        const char *option, *words;
    } known[] = {
        {"time-unit", "s ms us none"},
        {"of", "events averages"},
        {"by", "rank process"},
        {"profiler", "ascend device framework wallclock"},
        {"metric", "cpu device bytes count cpu_time_total self_cpu_time_total "
                   "self_device_time_total self_cpu_memory_usage self_device_memory_usage"},
        {"device", "cuda xpu mtia hpu none"},
    };

    if (!strcmp(option, "sort-by")) {
        put_sort_keys(out);
        return true;
    }
    if (!strcmp(option, "format") || !strcmp(option, "style")) {
        put_formats(out, *option == 's');
        return true;
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (!strcmp(option, known[i].option)) {
            tp_buffer_string(out, known[i].words);
            return true;
        }
    }
    return false;
}

/* ---- bash ---- */

static void put_bash_values(struct tp_buffer *out)
{
    struct tp_option_text option;
    struct tp_buffer words = {0};

    for (int i = 0; tp_option_text(i, &option); i++) {
        tp_buffer_reset(&words);
        if (!option.help || !option.value)
            continue;
        tp_buffer_format(out, "    --%s", option.name);
        if (option.letter)
            tp_buffer_format(out, "|-%c", option.letter);
        if (put_values(&words, option.name)) {
            tp_buffer_string(out, ") COMPREPLY=($(compgen -W '");
            tp_buffer_bytes(out, words.bytes, words.size);
            tp_buffer_string(out, "' -- \"$word\")); return ;;\n");
        } else if (!strcmp(option.name, "output")) {
            tp_buffer_string(out, ") compopt -o default; return ;;\n");
        } else {
            tp_buffer_string(out, ") return ;;\n");
        }
    }
    tp_buffer_fini(&words);
}

static void put_bash(struct tp_buffer *out)
{
    struct tp_option_text option;

    tp_buffer_string(
        out, "# bash completion for tpreport\n"
             "_tpreport() {\n"
             "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
             "    if [[ $word == = ]]; then word=; fi\n"
             "    if [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
             "    case $before in\n");
    put_bash_values(out);
    tp_buffer_string(out, "    esac\n"
                          "    if [[ $word == -* ]]; then\n"
                          "        COMPREPLY=($(compgen -W '");
    for (int i = 0; tp_option_text(i, &option); i++) {
        if (option.help)
            tp_buffer_format(out, "%s--%s", i ? " " : "", option.name);
    }
    tp_buffer_string(out, "' -- \"$word\"))\n"
                          "        return\n"
                          "    fi\n"
                          "    compopt -o default\n"
                          "    if ((COMP_CWORD == 1)); then\n"
                          "        COMPREPLY=($(compgen -W '");
    for (int i = 0; i < TP_COMMANDS; i++)
        tp_buffer_format(out, "%s%s", i ? " " : "", tp_command_name((enum tp_command_id)i));
    tp_buffer_string(out, "' -- \"$word\"))\n"
                          "    fi\n"
                          "}\n"
                          "complete -F _tpreport tpreport\n");
}

/* ---- zsh ---- */

/* Between single quotes, in a specification: quotes, brackets and colons are special. */
static void put_zsh_text(struct tp_buffer *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            tp_buffer_string(out, "'\\''");
        else if (strchr("[]:\\", *text))
            tp_buffer_format(out, "\\%c", *text);
        else
            tp_buffer_char(out, *text);
    }
}

static void put_zsh_option(struct tp_buffer *out, const struct tp_option_text *option)
{
    struct tp_buffer words = {0};

    tp_buffer_string(out, " \\\n    ");
    if (option->letter)
        tp_buffer_format(out, "{-%c,--%s%s}", option->letter, option->name,
                         option->value ? "=" : "");
    else
        tp_buffer_format(out, "--%s%s", option->name, option->value ? "=" : "");
    tp_buffer_string(out, "'[");
    put_zsh_text(out, option->help);
    tp_buffer_char(out, ']');
    if (option->value) {
        tp_buffer_char(out, ':');
        put_zsh_text(out, option->value);
        tp_buffer_char(out, ':');
        if (put_values(&words, option->name)) {
            tp_buffer_char(out, '(');
            tp_buffer_bytes(out, words.bytes, words.size);
            tp_buffer_char(out, ')');
        } else if (!strcmp(option->name, "output")) {
            tp_buffer_string(out, "_files");
        }
    }
    tp_buffer_char(out, '\'');
    tp_buffer_fini(&words);
}

static void put_zsh(struct tp_buffer *out)
{
    struct tp_option_text option;

    tp_buffer_string(out, "#compdef tpreport\n\n"
                          "_tpreport_first() {\n"
                          "    local -a commands=(");
    for (int i = 0; i < TP_COMMANDS; i++) {
        tp_buffer_format(out, "\n        '%s:", tp_command_name((enum tp_command_id)i));
        put_zsh_text(out, tp_command_help((enum tp_command_id)i));
        tp_buffer_char(out, '\'');
    }
    tp_buffer_string(out, "\n    )\n"
                          "    _describe command commands\n"
                          "    _files\n"
                          "}\n\n"
                          "_arguments -s");
    for (int i = 0; tp_option_text(i, &option); i++) {
        if (option.help)
            put_zsh_option(out, &option);
    }
    tp_buffer_string(out, " \\\n    '1:command or input:_tpreport_first' \\\n"
                          "    '*:input:_files'\n");
}

int tp_completion_write(struct tp_buffer *out, const char *shell, struct tp_diag *diag)
{
    if (!strcmp(shell, "bash"))
        put_bash(out);
    else if (!strcmp(shell, "zsh"))
        put_zsh(out);
    else
        return tp_diag_fail(diag, -TP_EUNSUPPORTED, TP_DIAG_NO_OFFSET,
                            "--print-completion: found '%.*s', expected bash or zsh", 40, shell);
    return 0;
}
