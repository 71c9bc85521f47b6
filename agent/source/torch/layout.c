/* SPDX-License-Identifier: MIT */
#include "source/torch/layout.h"

#include <stdlib.h>
#include <string.h>

/* First guesses, oldest first; each row holds from its version up to the next row's. */
static const struct {
    int version; /* major * 1000 + minor */
    struct tp_torch_layout layout;
} guesses[] = {
    {1013,
     {.name = 160,
      .name_kind = 192,
      .scope = 96,
      .sequence = 200,
      .inputs = 208,
      .forward_thread = 248,
      .schema_overload = 32,
      .list_elements = 24,
      .list_type = 48,
      .complex_value = 32,
      .rank = 72,
      .sizes = 80,
      .strides = 120,
      .elements = 168,
      .dtype = 176,
      .keys = 184,
      .keys_opaque = 0x2000000,
      .keys_unstrided = 0xe00000}},
    {2015,
     {.name = 160,
      .name_kind = 192,
      .scope = 96,
      .sequence = 200,
      .inputs = 208,
      .forward_thread = 304,
      .schema_overload = 32,
      .list_elements = 16,
      .list_type = 40,
      .complex_value = 16,
      .rank = 56,
      .sizes = 64,
      .strides = 104,
      .elements = 152,
      .dtype = 160,
      .keys = 168,
      .keys_opaque = 0x2000000,
      .keys_unstrided = 0x1c00000,
      .names_scalar_lists = true}},
};

const struct tp_torch_layout *tp_torch_layout_guess(const char *version)
{
    size_t row = 0;
    int number = 0;

    if (version != NULL) {
        char *minor = NULL;
        long major = strtol(version, &minor, 10);
        number = (int)(major * 1000 + (*minor == '.' ? strtol(minor + 1, NULL, 10) : 0));
    }
    for (size_t i = 1; i < sizeof guesses / sizeof guesses[0]; i++)
        if (guesses[i].version <= number)
            row = i;
    return &guesses[row].layout;
}

const char *tp_torch_layout_field(unsigned index)
{
    static const char *const names[] = {"name",           "overload", "scope",   "sequence number",
                                        "forward thread", "inputs",   "sizes",   "strides",
                                        "types",          "scalars",  "complex", "lists"};

    return index < sizeof names / sizeof names[0] ? names[index] : NULL;
}
