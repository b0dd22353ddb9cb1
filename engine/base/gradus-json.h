/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <json-glib/json-glib.h>

#include "gradus-error.h"

G_BEGIN_DECLS

/* Limits that stand before anything is allocated from a file. */
#define GRADUS_JSON_MAX_BYTES (64 * 1024 * 1024)
#define GRADUS_JSON_MAX_DEPTH 200
#define GRADUS_JSON_MAX_VALUES 2000000

/**
 * gradus_json_parse:
 * @length: bytes, or -1 when zero-terminated
 * @file: the file's name, for messages
 *
 * Strict JSON (RFC 8259): no comments, no trailing commas, no NaN, no duplicate keys, valid UTF-8
 * (a byte order mark is skipped), within the limits above. Whole numbers that fit are gint64, all
 * others double. Independent of the locale.
 *
 * Returns: (transfer full): the tree, or NULL with GRADUS_ERROR_REFUSED naming line and column
 */
JsonNode *gradus_json_parse (const char *text, gssize length, const char *file, GError **error);

/* Likewise from a regular file; GRADUS_ERROR_NOT_FOUND or _IO when it cannot be read. */
JsonNode *gradus_json_load_file (const char *path, GError **error);

/* The tree as text that gradus_json_parse() reads back as the same tree: numbers independent of the
 * locale, in the fewest digits that are exact. A NaN or infinity, which JSON cannot have, is
 * written as null. Use this and not json-glib's generator, whose 1e-08 is no JSON. Free with g_free. */
char *gradus_json_to_string (JsonNode *node, gboolean pretty);

/**
 * GradusJsonObject:
 *
 * A cursor for reading an untrusted object: it knows its file and its JSON pointer, remembers which
 * keys were asked for, and keeps the first error of the whole document. So a reader asks for
 * everything that it knows, goes on whatever comes back, and looks once:
 *
 *     g_autoptr (GradusJsonObject) object = gradus_json_open (node, "recipe.json", error);
 *     if (object == NULL)
 *       return FALSE;
 *     gradus_json_require (object, "rate", NULL);
 *     rate = gradus_json_double (object, "rate", 0, 1, 0);
 *     mode = gradus_json_enum (object, "mode", mode_names, MODE_AUTO);
 *     if (!gradus_json_end (object, error))
 *       return FALSE;
 *
 * Getters return the fallback when the key is absent, when its value is null, and after an error.
 * An error is GRADUS_ERROR_REFUSED (or _UNSUPPORTED for what is not available in this version) and
 * its message names what is there, where, and what would be right. Strings and nodes returned live
 * as long as any cursor of the document. Not thread-safe.
 */
typedef struct _GradusJsonObject GradusJsonObject;
typedef struct _GradusJsonArray  GradusJsonArray;

/* A cursor at the root; NULL with an error if @node is no object. @file NULL: no file named. */
GradusJsonObject *gradus_json_open (JsonNode *node, const char *file, GError **error);
/* A cursor on a part of a document, cut out of it at @pointer ("/data"). */
GradusJsonObject *
gradus_json_open_at (JsonNode *node, const char *file, const char *pointer, GError **error);
void gradus_json_object_free (GradusJsonObject *self);
void gradus_json_array_free (GradusJsonArray *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusJsonObject, gradus_json_object_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusJsonArray, gradus_json_array_free)

const char *gradus_json_file (const GradusJsonObject *self);
/* "/compile/optimizer"; "" at the root. */
const char *gradus_json_pointer (const GradusJsonObject *self);
JsonObject *gradus_json_peek (const GradusJsonObject *self);

/* Whether the key is there and not null; makes it a known key, as every getter does. */
gboolean gradus_json_has (GradusJsonObject *self, const char *key);
/* Refuses the first of the keys that is absent or null. NULL-terminated. */
void gradus_json_require (GradusJsonObject *self, const char *key, ...) G_GNUC_NULL_TERMINATED;
/* Makes keys known without reading them. NULL-terminated. */
void gradus_json_ignore (GradusJsonObject *self, const char *key, ...) G_GNUC_NULL_TERMINATED;
/* Keys of the format that this version cannot do: refuses the first that is there and not null. */
void gradus_json_unavailable (GradusJsonObject *self, const char *key, ...) G_GNUC_NULL_TERMINATED;

const char *gradus_json_string (GradusJsonObject *self, const char *key, const char *fallback);
/* 3.0 is taken for 3. @fallback may lie outside the range. */
gint64 gradus_json_int (GradusJsonObject *self,
                        const char       *key,
                        gint64            min,
                        gint64            max,
                        gint64            fallback);
/* Finite and from @min to @max, both included. */
double gradus_json_double (GradusJsonObject *self,
                           const char       *key,
                           double            min,
                           double            max,
                           double            fallback);
gboolean gradus_json_bool (GradusJsonObject *self, const char *key, gboolean fallback);
/* Index of the value in @names, which NULL ends. */
int gradus_json_enum (GradusJsonObject  *self,
                      const char        *key,
                      const char *const *names,
                      int                fallback);
/* (transfer full): NULL when absent, null or refused. */
GradusJsonObject *gradus_json_object (GradusJsonObject *self, const char *key);
GradusJsonArray  *gradus_json_array (GradusJsonObject *self, const char *key, guint max_length);
/* (transfer none): whatever stands there, null included; NULL when absent. */
JsonNode *gradus_json_node (GradusJsonObject *self, const char *key);

guint gradus_json_array_length (const GradusJsonArray *self);
/* Elements; a wrong one (null too) is refused and gives NULL, 0 or FALSE. */
const char *gradus_json_array_string (GradusJsonArray *self, guint index);
gint64 gradus_json_array_int (GradusJsonArray *self, guint index, gint64 min, gint64 max);
double gradus_json_array_double (GradusJsonArray *self, guint index, double min, double max);
GradusJsonObject *gradus_json_array_object (GradusJsonArray *self, guint index);
GradusJsonArray  *gradus_json_array_array (GradusJsonArray *self, guint index, guint max_length);
JsonNode         *gradus_json_array_node (GradusJsonArray *self, guint index);

/* Records an error at @key (NULL: the object itself) unless there is one already. The message is
 * "KEY at POINTER in FILE: " and what @format gives, a whole translated sentence. */
void gradus_json_refuse (GradusJsonObject *self, const char *key, const char *format, ...)
    G_GNUC_PRINTF (3, 4);
/* Likewise at element @index. */
void gradus_json_array_refuse (GradusJsonArray *self, guint index, const char *format, ...)
    G_GNUC_PRINTF (3, 4);
/* Likewise "not available in this version of Gradus", GRADUS_ERROR_UNSUPPORTED, for a word such as
 * a stage's or a layer's name. */
void gradus_json_refuse_unavailable (GradusJsonObject *self, const char *key, const char *word);
/* Likewise, where something must stand: says the two words that would be right. */
void gradus_json_refuse_unavailable_but (
    GradusJsonObject *self, const char *key, const char *word, const char *one, const char *other);
/* Records @error, which is taken, unless there is one already. */
void gradus_json_take_error (GradusJsonObject *self, GError *error);

/* TRUE once anything in the document was refused. */
gboolean gradus_json_failed (const GradusJsonObject *self);
/* Refuses keys that nobody asked for, then reports the document's first error. */
gboolean gradus_json_end (GradusJsonObject *self, GError **error);
/* Only reports the document's first error: for readers that leave unknown keys alone. */
gboolean gradus_json_check (GradusJsonObject *self, GError **error);

/* The one of @names (NULL ends them) nearest to a misspelt @name; NULL if none is near. */
const char *gradus_json_nearest (const char *name, const char *const *names);

G_END_DECLS
