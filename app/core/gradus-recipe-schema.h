/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-json.h"

G_BEGIN_DECLS

/* No batch is larger than this. */
#define GRADUS_RECIPE_MAX_BATCH 1048576

typedef enum
{
  GRADUS_FIELD_STRING,
  GRADUS_FIELD_PATH,   /* a string, made absolute */
  GRADUS_FIELD_INT,
  GRADUS_FIELD_NUMBER,
  GRADUS_FIELD_BOOLEAN,
  GRADUS_FIELD_STRINGS, /* a list of strings */
  GRADUS_FIELD_OBJECT,  /* an object with the members; made if absent */
  GRADUS_FIELD_PART,    /* an object that the trainer's options read */
  GRADUS_FIELD_CHECK,   /* a function reads it */
  GRADUS_FIELD_LATER,   /* known, but not to this version */
} GradusFieldKind;

typedef struct _GradusField GradusField;

/* What checking a recipe knows beside the field: @base is the folder that paths start from. */
typedef struct
{
  const char *base;
} GradusFieldContext;

typedef void (*GradusFieldFunc) (GradusJsonObject         *object,
                                 const GradusField        *field,
                                 const GradusFieldContext *context);

/**
 * GradusField:
 * @min, @max: range of numbers, both included
 * @fallback: the default as JSON; NULL when there is none and the key may be absent
 * @required: must be there
 * @members: for an object
 * @check: for GRADUS_FIELD_CHECK
 *
 * One key of the recipe: the row that checks it and gives its default. Rows end with a NULL name.
 */
struct _GradusField
{
  const char        *name;
  GradusFieldKind    kind;
  double             min, max;
  const char        *fallback;
  gboolean           required;
  const GradusField *members;
  GradusFieldFunc    check;
};

#define GRADUS_FIELD_IS_LATER(NAME) { .name = NAME, .kind = GRADUS_FIELD_LATER }

/* The top level of a recipe. */
extern const GradusField gradus_recipe_fields[];

/* Checks @object against @fields, writes defaults into it, refuses unknown keys. What is wrong is
 * kept by @object's document; see gradus_json_end(). */
void gradus_fields_apply (GradusJsonObject         *object,
                          const GradusField        *fields,
                          const GradusFieldContext *context);

/* Makes the path under @key absolute, if there is one; an empty one is refused. */
void gradus_field_apply_path (GradusJsonObject         *object,
                              const char               *key,
                              const GradusFieldContext *context);

/* Parts of the table that live in gradus-recipe-data.c. */
void gradus_recipe_check_source (GradusJsonObject         *object,
                                 const GradusField        *field,
                                 const GradusFieldContext *context);
void gradus_recipe_check_validation (GradusJsonObject         *object,
                                     const GradusField        *field,
                                     const GradusFieldContext *context);
void gradus_recipe_check_pipeline (GradusJsonObject         *object,
                                   const GradusField        *field,
                                   const GradusFieldContext *context);
void gradus_recipe_check_on_error (GradusJsonObject         *object,
                                   const GradusField        *field,
                                   const GradusFieldContext *context);

/* Adds {@name: @value} to @data's list `pipeline`, in front of a last prefetch. Takes @value. */
void gradus_recipe_add_stage (JsonObject *data, const char *name, JsonNode *value);

G_END_DECLS
