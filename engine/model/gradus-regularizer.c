/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/gradus-regularizer.h"

#include "gradus-error.h"

#include <glib/gi18n-lib.h>

typedef enum
{
  KIND_L1,
  KIND_L2,
  KIND_L1L2,
  KIND_ORTHOGONAL,
  N_KINDS,
} Kind;

/* Keras's class, the name it has as a plain word, and the defaults. */
static const struct
{
  const char *class_name, *word;
  double      l1, l2;
} rows[N_KINDS] = {
  { "L1", "l1", 0.01, 0 },
  { "L2", "l2", 0, 0.01 },
  { "L1L2", "l1_l2", 0, 0 },
  { "OrthogonalRegularizer", "orthogonal_regularizer", 0, 0 },
};

static const char *const modes[] = { "rows", "columns", NULL };

static gboolean
find_kind (const char *name, guint *kind)
{
  for (*kind = 0; *kind < N_KINDS; (*kind)++)
    if (g_str_equal (name, rows[*kind].class_name) || g_str_equal (name, rows[*kind].word))
      return TRUE;
  return FALSE;
}

static void
read_config (GradusRegularizer *self, GradusJsonObject *config)
{
  if (self->kind == KIND_ORTHOGONAL)
    {
      self->factor = gradus_json_double (config, "factor", 0, 1e30, self->factor);
      self->columns = gradus_json_enum (config, "mode", modes, 0) == 1;
      return;
    }
  if (self->kind != KIND_L2)
    self->l1 = gradus_json_double (config, "l1", 0, 1e30, self->l1);
  if (self->kind != KIND_L1)
    self->l2 = gradus_json_double (config, "l2", 0, 1e30, self->l2);
}

gboolean
gradus_regularizer_read (GradusRegularizer *self,
                         GradusJsonObject  *cursor,
                         const char        *key,
                         JsonNode          *node)
{
  g_autoptr (GradusJsonObject) object = NULL;
  g_autoptr (GradusJsonObject) config = NULL;
  const char *name;

  *self = (GradusRegularizer){ 0 };
  if (JSON_NODE_HOLDS_VALUE (node))
    name = gradus_json_string (cursor, key, NULL);
  else
    {
      if ((object = gradus_json_object (cursor, key)) == NULL)
        return FALSE;
      gradus_json_ignore (object, "module", "registered_name", "build_config", NULL);
      gradus_json_require (object, "class_name", NULL);
      name = gradus_json_string (object, "class_name", NULL);
      config = gradus_json_object (object, "config");
    }
  if (name == NULL || gradus_json_failed (cursor))
    return FALSE;
  if (!find_kind (name, &self->kind))
    {
      gradus_json_refuse (object ? object : cursor, object ? "class_name" : key,
                          _("There is no regularizer “%s”; choose “L1”, “L2”, “L1L2” or "
                            "“OrthogonalRegularizer”."),
                          name);
      return FALSE;
    }
  self->l1 = rows[self->kind].l1;
  self->l2 = rows[self->kind].l2;
  self->factor = 0.01;
  if (config != NULL)
    read_config (self, config);
  return (config == NULL || gradus_json_end (config, NULL)) &&
         (object == NULL || gradus_json_end (object, NULL));
}

JsonNode *
gradus_regularizer_write (const GradusRegularizer *self)
{
  JsonObject *object = json_object_new ();
  JsonObject *config = json_object_new ();
  JsonNode   *node = json_node_new (JSON_NODE_OBJECT);

  if (self->kind == KIND_ORTHOGONAL)
    {
      json_object_set_double_member (config, "factor", self->factor);
      json_object_set_string_member (config, "mode", modes[self->columns]);
    }
  else
    {
      if (self->kind != KIND_L2)
        json_object_set_double_member (config, "l1", self->l1);
      if (self->kind != KIND_L1)
        json_object_set_double_member (config, "l2", self->l2);
    }
  json_object_set_string_member (object, "module", "keras.regularizers");
  json_object_set_string_member (object, "class_name", rows[self->kind].class_name);
  json_object_set_object_member (object, "config", config);
  json_object_set_null_member (object, "registered_name");
  json_node_take_object (node, object);
  return node;
}

gboolean
gradus_regularizer_fits (const GradusRegularizer *self, const GradusShape *shape, GError **error)
{
  g_autofree char *met = NULL;

  if (self->kind != KIND_ORTHOGONAL ||
      (shape->rank == 2 && shape->dims[0] >= 0 && shape->dims[self->columns] > 1 &&
       shape->dims[self->columns] <= 1 << 14))
    return TRUE;
  met = gradus_shape_to_string (shape);
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
               _("OrthogonalRegularizer compares the rows or columns of a matrix, from 2 to 16384 of "
                 "them, but was given the shape %s. Use L2 here."),
               met);
  return FALSE;
}

/* A matrix of ones with zeros on its diagonal. */
static GradusValueId
off_diagonal (GradusProgram *program, gint64 size)
{
  g_autofree float *data = g_new (float, size * size);

  for (gint64 i = 0; i < size * size; i++)
    data[i] = i % (size + 1) != 0;
  return gradus_program_add_constant (program, GRADUS_DTYPE_FLOAT32, gradus_shape (2, size, size),
                                      data);
}

/* The mean of |cosine| over all pairs of rows or columns, times the factor. */
static gboolean
build_orthogonal (const GradusRegularizer *self,
                  GradusProgram           *program,
                  GradusValueId            value,
                  GradusValueId           *penalty,
                  GError                 **error)
{
  GradusShape   shape = gradus_program_value (program, value)->type.shape;
  gint64        axis = self->columns ? 0 : 1, size = shape.dims[self->columns];
  double        pairs = size * (size - 1.0) / 2;
  float         least = 1e-12f;
  GradusValueId square, sum, pair[2], norm, product;

  if (!gradus_program_add_node (program, "square", 0, &value, 1, &square, error, NULL) ||
      !gradus_program_add_node (program, "reduce_sum", 0, &square, 1, &sum, error, "axes", 1u, &axis,
                                "keepdims", (gint64) 1, NULL))
    return FALSE;
  pair[0] = sum;
  pair[1] = gradus_program_add_constant (program, GRADUS_DTYPE_FLOAT32, gradus_shape (0), &least);
  if (!gradus_program_add_node (program, "maximum", 0, pair, 2, &sum, error, NULL) ||
      !gradus_program_add_node (program, "sqrt", 0, &sum, 1, &norm, error, NULL))
    return FALSE;
  pair[0] = value;
  pair[1] = norm;
  if (!gradus_program_add_node (program, "divide", 0, pair, 2, &pair[0], error, NULL))
    return FALSE;
  pair[1] = pair[0];
  if (!gradus_program_add_node (program, "matmul", 0, pair, 2, &product, error,
                                self->columns ? "transpose_a" : "transpose_b", (gint64) 1, NULL))
    return FALSE;
  pair[0] = product;
  pair[1] = off_diagonal (program, size);
  return gradus_program_add_node (program, "multiply", 0, pair, 2, &product, error, NULL) &&
         gradus_program_add_node (program, "penalty", 0, &product, 1, penalty, error, "l1",
                                  self->factor * 0.5 / pairs, NULL);
}

gboolean
gradus_regularizer_build (const GradusRegularizer *self,
                          GradusProgram           *program,
                          GradusValueId            value,
                          gboolean                 mean,
                          GradusValueId           *penalty,
                          GError                 **error)
{
  if (self->kind == KIND_ORTHOGONAL)
    return gradus_regularizer_fits (self, &gradus_program_value (program, value)->type.shape,
                                    error) &&
           build_orthogonal (self, program, value, penalty, error);
  return gradus_program_add_node (program, "penalty", 0, &value, 1, penalty, error, "l1", self->l1,
                                  "l2", self->l2, "mean", (gint64) (mean != 0), NULL);
}
