/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-loss.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>

static const struct
{
  const char    *name, *also, *class_name;
  GradusLossKind kind;
} losses[] = {
  { "sparse_categorical_crossentropy", NULL, "SparseCategoricalCrossentropy",
    GRADUS_LOSS_SPARSE_CROSSENTROPY },
  { "categorical_crossentropy", NULL, "CategoricalCrossentropy", GRADUS_LOSS_CROSSENTROPY },
  { "mean_squared_error", "mse", "MeanSquaredError", GRADUS_LOSS_SQUARED_ERROR },
  { "mean_absolute_error", "mae", "MeanAbsoluteError", GRADUS_LOSS_ABSOLUTE_ERROR },
};

static const GradusMetric metrics_known[] = {
  { "accuracy", GRADUS_METRIC_AUTO },
  { "sparse_categorical_accuracy", GRADUS_METRIC_SPARSE },
  { "categorical_accuracy", GRADUS_METRIC_CATEGORICAL },
  { "binary_accuracy", GRADUS_METRIC_BINARY },
};

static gboolean
find_loss (GradusLoss *self, GradusJsonObject *cursor, const char *key, const char *name)
{
  const char *names[G_N_ELEMENTS (losses) + 1] = { NULL };
  const char *near;

  for (gsize i = 0; i < G_N_ELEMENTS (losses); i++)
    {
      names[i] = losses[i].name;
      if (g_str_equal (name, losses[i].name) || g_str_equal (name, losses[i].class_name) ||
          g_ascii_strcasecmp (name, losses[i].also ? losses[i].also : "") == 0)
        {
          self->kind = losses[i].kind;
          return TRUE;
        }
    }
  near = gradus_json_nearest (name, names);
  if (near != NULL)
    gradus_json_refuse (cursor, key, _("There is no loss “%s”; did you mean “%s”?"), name, near);
  else
    gradus_json_refuse (cursor, key,
                        _("This version of Gradus has no loss “%s”; choose one such as "
                          "“sparse_categorical_crossentropy” or “mean_squared_error”."),
                        name);
  return FALSE;
}

static gboolean
read_loss_config (GradusLoss *self, GradusJsonObject *config)
{
  const char *reduction = gradus_json_string (config, "reduction", "sum_over_batch_size");

  if (reduction != NULL && !g_str_equal (reduction, "sum_over_batch_size") &&
      !g_str_equal (reduction, "auto"))
    gradus_json_refuse (config, "reduction",
                        _("This version of Gradus takes the mean of the batch, "
                          "“sum_over_batch_size”, not “%s”."),
                        reduction);
  gradus_json_ignore (config, "name", "dtype", "fn", NULL);
  if (self->kind == GRADUS_LOSS_SPARSE_CROSSENTROPY || self->kind == GRADUS_LOSS_CROSSENTROPY)
    {
      self->from_logits = gradus_json_bool (config, "from_logits", FALSE);
      gradus_json_int (config, "axis", -1, -1, -1);
      if (gradus_json_double (config, "label_smoothing", 0, 1, 0) > 0)
        gradus_json_refuse_unavailable (config, "label_smoothing", "label_smoothing");
      gradus_json_unavailable (config, "ignore_class", NULL);
    }
  return gradus_json_end (config, NULL);
}

gboolean
gradus_loss_read (GradusLoss *self, GradusJsonObject *compile)
{
  g_autoptr (GradusJsonObject) object = NULL;
  g_autoptr (GradusJsonObject) config = NULL;
  JsonNode   *node = gradus_json_node (compile, "loss");
  const char *name;

  gradus_json_require (compile, "loss", NULL);
  if (gradus_json_failed (compile))
    return FALSE;
  if (JSON_NODE_HOLDS_VALUE (node))
    {
      name = gradus_json_string (compile, "loss", NULL);
      return name != NULL && find_loss (self, compile, "loss", name);
    }
  if ((object = gradus_json_object (compile, "loss")) == NULL)
    return FALSE;
  gradus_json_unavailable (object, "formula", NULL);
  gradus_json_ignore (object, "module", "registered_name", NULL);
  if (!gradus_json_has (object, "class_name"))
    {
      gradus_json_refuse_unavailable (compile, "loss", _("a dictionary of losses by head"));
      return FALSE;
    }
  name = gradus_json_string (object, "class_name", NULL);
  if (name == NULL || !find_loss (self, object, "class_name", name))
    return FALSE;
  config = gradus_json_object (object, "config");
  if (config != NULL && !read_loss_config (self, config))
    return FALSE;
  return gradus_json_end (object, NULL);
}

JsonNode *
gradus_loss_write (const GradusLoss *self)
{
  JsonObject *object, *config;
  JsonNode   *node;

  if (!self->from_logits)
    return json_node_init_string (json_node_alloc (), losses[self->kind].name);
  object = json_object_new ();
  config = json_object_new ();
  json_object_set_boolean_member (config, "from_logits", TRUE);
  json_object_set_string_member (object, "class_name", losses[self->kind].class_name);
  json_object_set_object_member (object, "config", config);
  node = json_node_init_object (json_node_alloc (), object);
  json_object_unref (object);
  return node;
}

static const GradusMetric *
find_metric (GradusJsonArray *array, guint index, const char *name)
{
  const char *names[G_N_ELEMENTS (metrics_known) + 1] = { NULL };
  const char *near;

  if (g_str_equal (name, "acc"))
    name = "accuracy";
  for (gsize i = 0; i < G_N_ELEMENTS (metrics_known); i++)
    {
      names[i] = metrics_known[i].name;
      if (g_str_equal (name, names[i]))
        return &metrics_known[i];
    }
  near = gradus_json_nearest (name, names);
  if (near != NULL)
    gradus_json_array_refuse (array, index, _("There is no metric “%s”; did you mean “%s”?"), name,
                              near);
  else
    gradus_json_array_refuse (array, index,
                              _("This version of Gradus has no metric “%s”; write “accuracy”."),
                              name);
  return NULL;
}

gboolean
gradus_metrics_read (GradusMetric *metrics, guint *n, GradusJsonObject *compile)
{
  JsonNode *node = gradus_json_node (compile, "metrics");
  g_autoptr (GradusJsonArray) array = NULL;

  *n = 0;
  if (node != NULL && JSON_NODE_HOLDS_OBJECT (node))
    gradus_json_refuse_unavailable (compile, "metrics", _("a dictionary of metrics by head"));
  if (gradus_json_failed (compile))
    return FALSE;
  array = gradus_json_array (compile, "metrics", GRADUS_MAX_METRICS);
  for (guint i = 0; array != NULL && i < gradus_json_array_length (array); i++)
    {
      const char         *name = gradus_json_array_string (array, i);
      const GradusMetric *metric = name ? find_metric (array, i, name) : NULL;

      if (metric == NULL)
        return FALSE;
      for (guint j = 0; j < *n; j++)
        if (metrics[j].name == metric->name)
          {
            gradus_json_array_refuse (array, i, _("The metric “%s” stands here twice."), name);
            return FALSE;
          }
      metrics[(*n)++] = *metric;
    }
  return !gradus_json_failed (compile);
}

static gint64
spec_count (const GradusArraySpec *spec)
{
  gint64 count = 1;

  for (guint i = 0; i < spec->rank; i++)
    count *= spec->dims[i];
  return count;
}

static gboolean
refuse_target (const GradusHead *head, const char *wanted, GError **error)
{
  g_autofree char *output = gradus_shape_to_string (&head->shape);

  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
               _ ("The loss does not fit: the output “%s” has shape %s and the targets “%s” have "
                  "%" PRId64 " numbers a sample. %s"),
               head->name, output, head->target.name, spec_count (&head->target), wanted);
  return FALSE;
}

/* The target as an input of the program, of @shape, cast to @dtype. */
static gboolean
add_target (GradusProgram *program, GradusHead *head, GradusShape shape, GradusDType dtype, GError **error)
{
  head->target_input = gradus_program_add_input (program, "target/0", head->target.dtype, shape);
  head->labels = head->target_input;
  return head->target.dtype == dtype ||
         gradus_program_add_node (program, "cast", 0, &head->target_input, 1, &head->labels, error,
                                  "dtype", gradus_dtype_name (dtype), NULL);
}

static gboolean
build_crossentropy (const GradusLoss *self,
                    GradusProgram    *program,
                    GradusHead       *head,
                    GradusValueId    *result,
                    GError          **error)
{
  gboolean      sparse = self->kind == GRADUS_LOSS_SPARSE_CROSSENTROPY;
  gint64        classes = head->shape.dims[1];
  GradusValueId logits = self->from_logits ? head->output : head->logits;
  GradusValueId inputs[2], outputs[2];

  if (head->shape.rank != 2)
    return refuse_target (head, _("A crossentropy takes an output of shape (None, classes)."), error);
  if (sparse && spec_count (&head->target) != 1)
    return refuse_target (head, _("This loss takes one label a sample; for a row of numbers use "
                                  "“categorical_crossentropy”."), error);
  if (!sparse && spec_count (&head->target) != classes)
    return refuse_target (head, _("This loss takes as many as there are outputs; for one label a "
                                  "sample use “sparse_categorical_crossentropy”."), error);
  if (!add_target (program, head,
                   sparse ? gradus_shape (1, (gint64) GRADUS_DIM_BATCH)
                          : gradus_shape (2, (gint64) GRADUS_DIM_BATCH, classes),
                   sparse ? GRADUS_DTYPE_INT32 : GRADUS_DTYPE_FLOAT32, error))
    return FALSE;
  head->n_classes = sparse ? classes : 0;
  head->prediction = head->output;
  inputs[1] = head->labels;
  if (logits == GRADUS_NO_VALUE)
    {
      inputs[0] = head->output;
      return gradus_program_add_node (program, sparse ? "sparse_cross_entropy" : "cross_entropy", 0,
                                      inputs, 2, result, error, NULL);
    }
  inputs[0] = logits;
  if (!gradus_program_add_node (program,
                                sparse ? "sparse_softmax_cross_entropy" : "softmax_cross_entropy",
                                0, inputs, 2, outputs, error, NULL))
    return FALSE;
  *result = outputs[0];
  /* The loss makes the softmax anyhow: the layer's own need not run in a step. */
  head->prediction = outputs[1];
  return TRUE;
}

static gboolean
build_difference (const GradusLoss *self,
                  GradusProgram    *program,
                  GradusHead       *head,
                  GradusValueId    *result,
                  GError          **error)
{
  const char   *op = self->kind == GRADUS_LOSS_SQUARED_ERROR ? "square" : "abs";
  GradusShape   one = gradus_shape_bind (&head->shape, gradus_sizes (1, 1));
  gint64        axes[GRADUS_MAX_RANK];
  GradusValueId pair[2], value;

  if (spec_count (&head->target) != gradus_shape_count (&one))
    return refuse_target (head, _("This loss takes as many targets as outputs. Change the last "
                                  "layer or the targets."), error);
  if (!add_target (program, head, head->shape, GRADUS_DTYPE_FLOAT32, error))
    return FALSE;
  head->prediction = head->output;
  pair[0] = head->output;
  pair[1] = head->labels;
  for (guint i = 1; i < head->shape.rank; i++)
    axes[i - 1] = i;
  if (!gradus_program_add_node (program, "subtract", 0, pair, 2, &value, error, NULL) ||
      !gradus_program_add_node (program, op, 0, &value, 1, result, error, NULL))
    return FALSE;
  if (head->shape.rank == 1)
    return TRUE;
  value = *result;
  return gradus_program_add_node (program, "reduce_mean", 0, &value, 1, result, error, "axes",
                                  head->shape.rank - 1, axes, "keepdims", (gint64) 0, NULL);
}

gboolean
gradus_loss_build (const GradusLoss *self,
                   GradusProgram    *program,
                   GradusHead       *head,
                   GradusValueId    *result,
                   GError          **error)
{
  head->n_classes = 0;
  if (self->kind == GRADUS_LOSS_SPARSE_CROSSENTROPY || self->kind == GRADUS_LOSS_CROSSENTROPY)
    return build_crossentropy (self, program, head, result, error);
  return build_difference (self, program, head, result, error);
}

/* As Keras's compile() does for "accuracy". */
static GradusMetricKind
choose (const GradusHead *head)
{
  gint64 last = head->shape.dims[head->shape.rank - 1];

  if (head->shape.rank >= 2 && last == 1)
    return GRADUS_METRIC_BINARY;
  return spec_count (&head->target) > 1 ? GRADUS_METRIC_CATEGORICAL : GRADUS_METRIC_SPARSE;
}

gboolean
gradus_metric_build (const GradusMetric *self,
                     GradusProgram      *program,
                     GradusHead         *head,
                     GradusValueId      *sum,
                     GError            **error)
{
  static const char *const ops[] = { NULL, "correct_sparse", "correct_categorical",
                                     "correct_binary" };
  GradusMetricKind kind = self->kind == GRADUS_METRIC_AUTO ? choose (head) : self->kind;
  GradusValueId    inputs[2] = { head->prediction, head->labels };
  GradusValueId    correct;
  gint64           axis = 0;

  if (kind == GRADUS_METRIC_SPARSE &&
      (spec_count (&head->target) != 1 || head->shape.rank != 2))
    return refuse_target (head, _("The metric “sparse_categorical_accuracy” takes one label a "
                                  "sample and an output of shape (None, classes)."), error);
  if (kind == GRADUS_METRIC_CATEGORICAL && spec_count (&head->target) != head->shape.dims[1])
    return refuse_target (head, _("The metric “categorical_accuracy” takes as many targets as "
                                  "outputs."), error);
  if (kind == GRADUS_METRIC_SPARSE && head->n_classes == 0)
    {
      GradusValueId flat;

      if (!gradus_program_add_node (program, "reshape", 0, &inputs[1], 1, &flat, error, "shape", 1u,
                                    &(const gint64){ GRADUS_DIM_BATCH }, NULL) ||
          !gradus_program_add_node (program, "cast", 0, &flat, 1, &inputs[1], error, "dtype",
                                    "int32", NULL))
        return FALSE;
    }
  return gradus_program_add_node (program, ops[kind], 0, inputs, 2, &correct, error, NULL) &&
         gradus_program_add_node (program, "reduce_sum", 0, &correct, 1, sum, error, "axes", 1u,
                                  &axis, "keepdims", (gint64) 0, NULL);
}
