/* SPDX-License-Identifier: MIT */
#ifndef TP_SOURCE_ITT_H
#define TP_SOURCE_ITT_H

#include "points.h"
#include "scope.h"
#include "source/itt/itt_abi.h"

/* itt_objects.c: domains, strings, counters, events. Context: hook. */

/** tp_itt_scope - the scope of a domain (NULL: the default one), made at first use for a domain of
 * the stub */
const struct tp_scope *tp_itt_scope(struct tp_itt_domain *domain);

/** tp_itt_name - id of a string in a domain */
uint32_t tp_itt_name(struct tp_itt_domain *domain, struct tp_itt_string *string);

/** tp_itt_key - id of a string as an attribute's key */
uint32_t tp_itt_key(const struct tp_itt_string *string);

/* What we keep of a counter. */
struct tp_counter {
    struct tp_itt_counter handle; /* what the program holds, where we made it */
    const void *key[2];           /* the handle; or a domain and a string */
    struct tp_held_name name;
    enum tp_itt_type type;
    _Atomic uint64_t value; /* of a whole-numbered counter that is counted up and down */
};

/** tp_itt_counter_of - by handle. Return: NULL when there are too many. */
struct tp_counter *tp_itt_counter_of(struct tp_itt_counter *handle);

/** tp_itt_counter_named - of the older calls: one per domain and string */
struct tp_counter *tp_itt_counter_named(struct tp_itt_domain *domain, struct tp_itt_string *string);

/** tp_itt_event_name - id of an event's name; TP_NAME_NONE for an event that was never made */
uint32_t tp_itt_event_name(int event);

struct tp_itt_domain *tp_itt_domain_create(const char *name);
struct tp_itt_domain *tp_itt_domain_create_wide(const wchar_t *name);
struct tp_itt_string *tp_itt_string_create(const char *text);
struct tp_itt_string *tp_itt_string_create_wide(const wchar_t *text);
struct tp_itt_counter *tp_itt_counter_create(const char *name, const char *domain);
struct tp_itt_counter *tp_itt_counter_create_typed(const char *name, const char *domain, int type);
int tp_itt_event_create(const char *name, int length);

/* itt_records.c: what becomes a record. Context: hook. */
void tp_itt_task_begin(struct tp_itt_domain *domain, struct tp_itt_id id, struct tp_itt_id parent,
                       struct tp_itt_string *name);
void tp_itt_task_begin_function(struct tp_itt_domain *domain, struct tp_itt_id id,
                                struct tp_itt_id parent, void *function);
void tp_itt_task_end(struct tp_itt_domain *domain);
void tp_itt_range_begin(struct tp_itt_domain *domain, struct tp_itt_id id, struct tp_itt_id parent,
                        struct tp_itt_string *name);
void tp_itt_range_end(struct tp_itt_domain *domain, struct tp_itt_id id);
void tp_itt_frame_begin(struct tp_itt_domain *domain, const struct tp_itt_id *id);
void tp_itt_frame_end(struct tp_itt_domain *domain, const struct tp_itt_id *id);
void tp_itt_frame_submit(struct tp_itt_domain *domain, const struct tp_itt_id *id,
                         unsigned long long begin, unsigned long long end);
unsigned long long tp_itt_timestamp(void);
void tp_itt_marker(struct tp_itt_domain *domain, struct tp_itt_id id, struct tp_itt_string *name,
                   int scope);
void tp_itt_metadata(struct tp_itt_domain *domain, struct tp_itt_id id, struct tp_itt_string *key,
                     int type, size_t count, const void *data);
void tp_itt_metadata_scope(struct tp_itt_domain *domain, int scope, struct tp_itt_string *key,
                           int type, size_t count, const void *data);
void tp_itt_metadata_text(struct tp_itt_domain *domain, struct tp_itt_id id,
                          struct tp_itt_string *key, const char *text, size_t length);
void tp_itt_metadata_text_scope(struct tp_itt_domain *domain, int scope, struct tp_itt_string *key,
                                const char *text, size_t length);
void tp_itt_counter_set(struct tp_itt_counter *counter, const void *value);
void tp_itt_counter_set_at(struct tp_itt_counter *counter, void *clock, unsigned long long time,
                           const void *value);
void tp_itt_counter_up(struct tp_itt_counter *counter);
void tp_itt_counter_up_by(struct tp_itt_counter *counter, unsigned long long delta);
void tp_itt_counter_down(struct tp_itt_counter *counter);
void tp_itt_counter_down_by(struct tp_itt_counter *counter, unsigned long long delta);
void tp_itt_counter_up_v3(struct tp_itt_domain *domain, struct tp_itt_string *name);
void tp_itt_counter_up_by_v3(struct tp_itt_domain *domain, struct tp_itt_string *name,
                             unsigned long long delta);
void tp_itt_counter_down_v3(struct tp_itt_domain *domain, struct tp_itt_string *name);
void tp_itt_counter_down_by_v3(struct tp_itt_domain *domain, struct tp_itt_string *name,
                               unsigned long long delta);
int tp_itt_event_start(int event);
int tp_itt_event_end(int event);
void tp_itt_thread_name(const char *name);
void tp_itt_pause(void);
void tp_itt_resume(void);

#endif
