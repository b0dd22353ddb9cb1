/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-json.h"

G_BEGIN_DECLS

/* What all cursors of a document share. */
typedef struct
{
  guint   references;
  char   *file;
  GError *error;
} GradusJsonDocument;

struct _GradusJsonObject
{
  GradusJsonDocument *document;
  JsonObject         *object;
  char               *pointer;
  GHashTable         *known;
};

struct _GradusJsonArray
{
  GradusJsonDocument *document;
  JsonArray          *array;
  char               *pointer;
};

/* @pointer with a further key or index; free with g_free. */
char *gradus_json_pointer_append (const char *pointer, const char *key);
char *gradus_json_pointer_index (const char *pointer, guint index);

GradusJsonDocument *gradus_json_document_ref (GradusJsonDocument *self);
/* Records a sentence about the place unless there is an error already. */
void
gradus_json_document_refuse (GradusJsonDocument *self, const char *pointer, const char *format, ...)
    G_GNUC_PRINTF (3, 4);
/* Likewise: @right ("A string") is expected, but @node is there. */
void gradus_json_document_refuse_value (GradusJsonDocument *self,
                                        const char         *pointer,
                                        JsonNode           *node,
                                        const char         *right);
/* Takes @pointer. */
GradusJsonObject *
gradus_json_object_new (GradusJsonDocument *document, JsonObject *object, char *pointer);

G_END_DECLS
