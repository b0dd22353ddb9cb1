/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-metric.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#define MAX_THRESHOLDS 10000

static const GradusMetricClass classes[] = {
  { GRADUS_METRIC_AUTO, "accuracy", "acc", "Accuracy", FALSE },
  { GRADUS_METRIC_SPARSE, "sparse_categorical_accuracy", NULL, "SparseCategoricalAccuracy", FALSE },
  { GRADUS_METRIC_CATEGORICAL, "categorical_accuracy", NULL, "CategoricalAccuracy", FALSE },
  { GRADUS_METRIC_BINARY, "binary_accuracy", NULL, "BinaryAccuracy", FALSE },
  { GRADUS_METRIC_TOP_K, "top_k_categorical_accuracy", NULL, "TopKCategoricalAccuracy", FALSE },
  { GRADUS_METRIC_SPARSE_TOP_K, "sparse_top_k_categorical_accuracy", NULL,
    "SparseTopKCategoricalAccuracy", FALSE },
  { GRADUS_METRIC_PRECISION, "precision", NULL, "Precision", FALSE },
  { GRADUS_METRIC_RECALL, "recall", NULL, "Recall", FALSE },
  { GRADUS_METRIC_AUC, "auc", NULL, "AUC", FALSE },
  { GRADUS_METRIC_F1, "f1_score", NULL, "F1Score", FALSE },
  { GRADUS_METRIC_CONFUSION, "confusion_matrix", NULL, "ConfusionMatrix", FALSE },
  { GRADUS_METRIC_MEAN_IOU, "mean_io_u", "mean_iou", "MeanIoU", FALSE },
  { GRADUS_METRIC_RMSE, "root_mean_squared_error", "rmse", "RootMeanSquaredError", TRUE },
  { GRADUS_METRIC_R2, "r2_score", "r2", "R2Score", FALSE },
  { GRADUS_METRIC_LOSS, "mean_squared_error", "mse", "MeanSquaredError", TRUE },
  { GRADUS_METRIC_LOSS, "mean_absolute_error", "mae", "MeanAbsoluteError", TRUE },
  { GRADUS_METRIC_LOSS, "mean_absolute_percentage_error", "mape", "MeanAbsolutePercentageError",
    TRUE },
  { GRADUS_METRIC_LOSS, "mean_squared_logarithmic_error", "msle", "MeanSquaredLogarithmicError",
    TRUE },
  { GRADUS_METRIC_LOSS, "log_cosh", "logcosh", "LogCoshError", TRUE },
  { GRADUS_METRIC_LOSS, "kl_divergence", "kld", "KLDivergence", TRUE },
  { GRADUS_METRIC_LOSS, "poisson", NULL, "Poisson", TRUE },
  { GRADUS_METRIC_LOSS, "hinge", NULL, "Hinge", TRUE },
  { GRADUS_METRIC_LOSS, "squared_hinge", NULL, "SquaredHinge", TRUE },
  { GRADUS_METRIC_LOSS, "categorical_hinge", NULL, "CategoricalHinge", TRUE },
  { GRADUS_METRIC_LOSS, "binary_crossentropy", "bce", "BinaryCrossentropy", TRUE },
  { GRADUS_METRIC_LOSS, "categorical_crossentropy", NULL, "CategoricalCrossentropy", TRUE },
  { GRADUS_METRIC_LOSS, "sparse_categorical_crossentropy", NULL, "SparseCategoricalCrossentropy",
    TRUE },
  { GRADUS_METRIC_COSINE, "cosine_similarity", NULL, "CosineSimilarity", FALSE },
};

static const char *const curve_names[] = { "ROC", "PR", NULL };
static const char *const summation_names[] = { "interpolation", "minoring", "majoring", NULL };
static const char *const average_names[] = { "macro", "micro", "weighted", NULL };

const char *const *
gradus_metric_names (void)
{
  static const char *names[G_N_ELEMENTS (classes) + 1];

  for (gsize i = 0; i < G_N_ELEMENTS (classes); i++)
    names[i] = classes[i].name;
  return names;
}

void
gradus_metric_free (GradusMetric *self)
{
  g_free (self->name);
  g_free (self->thresholds);
  g_free (self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusMetric, gradus_metric_free)

gboolean
gradus_metric_is_min (const char *series)
{
  const char *name = strrchr (series, '/');

  name = name != NULL ? name + 1 : series;
  for (gsize i = 0; i < G_N_ELEMENTS (classes); i++)
    if (g_str_equal (name, classes[i].name) || g_strcmp0 (name, classes[i].also) == 0)
      return classes[i].is_min;
  return strstr (name, "accuracy") == NULL;
}

static const GradusMetricClass *
find (const char *name)
{
  for (gsize i = 0; i < G_N_ELEMENTS (classes); i++)
    if (g_str_equal (name, classes[i].name) || g_str_equal (name, classes[i].class_name) ||
        (classes[i].also != NULL && g_ascii_strcasecmp (name, classes[i].also) == 0))
      return &classes[i];
  return NULL;
}

/* Keras's: evenly from 0 to 1, the ends just outside. */
static void
even_thresholds (GradusMetric *self, guint n)
{
  g_free (self->thresholds);
  self->thresholds = g_new (float, n);
  self->n_thresholds = n;
  for (guint i = 0; i < n; i++)
    self->thresholds[i] = (float) ((double) i / (n - 1));
  self->thresholds[0] = -1e-7f;
  self->thresholds[n - 1] = 1 + 1e-7f;
}

static void
one_threshold (GradusMetric *self, double threshold)
{
  g_free (self->thresholds);
  self->thresholds = g_new (float, 1);
  self->n_thresholds = 1;
  self->thresholds[0] = (float) threshold;
}

static GradusMetric *
metric_new (const GradusMetricClass *klass, const char *name)
{
  GradusMetric *self = g_new0 (GradusMetric, 1);

  self->klass = klass;
  /* Of two names for accuracy the series has one. */
  self->name = g_strdup (g_str_equal (name, klass->class_name) || g_str_equal (name, "acc")
                             ? klass->name
                             : name);
  self->threshold = klass->kind == GRADUS_METRIC_F1 ? -1 : 0.5;
  self->k = 5;
  self->class_id = -1;
  if (klass->kind == GRADUS_METRIC_LOSS || klass->kind == GRADUS_METRIC_COSINE)
    gradus_loss_find (&self->loss, klass->name);
  if (klass->kind == GRADUS_METRIC_PRECISION || klass->kind == GRADUS_METRIC_RECALL)
    one_threshold (self, 0.5);
  if (klass->kind == GRADUS_METRIC_AUC)
    even_thresholds (self, 200);
  return self;
}

static void
read_thresholds (GradusMetric *self, GradusJsonObject *config)
{
  gboolean given = gradus_json_has (config, "thresholds");
  JsonNode *node = gradus_json_node (config, "thresholds");
  g_autoptr (GradusJsonArray) array = NULL;

  self->top_k = gradus_json_int (config, "top_k", 1, G_MAXINT32, 0);
  self->class_id = gradus_json_int (config, "class_id", 0, G_MAXINT32, -1);
  if (!given && self->top_k > 0)
    one_threshold (self, -1e9);
  if (!given)
    return;
  if (JSON_NODE_HOLDS_VALUE (node))
    {
      one_threshold (self, gradus_json_double (config, "thresholds", 0, 1, 0.5));
      return;
    }
  array = gradus_json_array (config, "thresholds", 1);
  if (array != NULL && gradus_json_array_length (array) == 1)
    one_threshold (self, gradus_json_array_double (array, 0, 0, 1));
  else
    gradus_json_refuse (config, "thresholds",
                        _("A series has one value: give one threshold, and a metric for each "
                          "further one."));
}

static void
read_auc (GradusMetric *self, GradusJsonObject *config)
{
  gradus_json_unavailable (config, "thresholds", "label_weights", "num_labels", NULL);
  if (gradus_json_bool (config, "multi_label", FALSE))
    gradus_json_refuse_unavailable (config, "multi_label", "multi_label");
  self->pr = gradus_json_enum (config, "curve", curve_names, 0) == 1;
  self->summation = gradus_json_enum (config, "summation_method", summation_names, 0);
  self->from_logits = gradus_json_bool (config, "from_logits", FALSE);
  even_thresholds (self, gradus_json_int (config, "num_thresholds", 2, MAX_THRESHOLDS, 200));
}

static void
read_config (GradusMetric *self, GradusJsonObject *config)
{
  const char *name = gradus_json_string (config, "name", NULL);

  gradus_json_ignore (config, "dtype", "fn", NULL);
  if (name != NULL && (*name == '\0' || strchr (name, '/') != NULL))
    gradus_json_refuse (config, "name", _("The name of a metric is not empty and has no “/”."));
  if (name != NULL)
    {
      g_free (self->name);
      self->name = g_strdup (name);
    }
  switch (self->klass->kind)
    {
    case GRADUS_METRIC_BINARY:
    case GRADUS_METRIC_CONFUSION:
      self->threshold = gradus_json_double (config, "threshold", 0, 1, 0.5);
      break;
    case GRADUS_METRIC_TOP_K:
    case GRADUS_METRIC_SPARSE_TOP_K:
      self->k = gradus_json_int (config, "k", 1, G_MAXINT32, 5);
      break;
    case GRADUS_METRIC_PRECISION:
    case GRADUS_METRIC_RECALL:
      read_thresholds (self, config);
      break;
    case GRADUS_METRIC_AUC:
      read_auc (self, config);
      break;
    case GRADUS_METRIC_F1:
      self->average = gradus_json_enum (config, "average", average_names, 0);
      self->threshold = gradus_json_double (config, "threshold", 0, 1, -1);
      break;
    case GRADUS_METRIC_MEAN_IOU:
      gradus_json_ignore (config, "num_classes", "sparse_y_true", "sparse_y_pred", "axis", NULL);
      break;
    case GRADUS_METRIC_LOSS:
      if (strstr (self->klass->name, "crossentropy") != NULL)
        self->loss.from_logits = gradus_json_bool (config, "from_logits", FALSE);
      break;
    default:
      break;
    }
}

/* A capital means the name of a class: “Presicion” is near “Precision”. */
static const char *
nearest (const char *name)
{
  const char *names[2 * G_N_ELEMENTS (classes) + 1] = { NULL };
  const char *class_names[G_N_ELEMENTS (classes) + 1] = { NULL };
  const char *near;
  guint       n = 0;

  for (gsize i = 0; i < G_N_ELEMENTS (classes); i++)
    {
      class_names[i] = classes[i].class_name;
      names[n++] = classes[i].name;
      if (classes[i].also != NULL)
        names[n++] = classes[i].also;
    }
  near = g_ascii_isupper (name[0]) ? gradus_json_nearest (name, class_names) : NULL;
  return near != NULL ? near : gradus_json_nearest (name, names);
}

static GradusMetric *
refuse_name (GradusJsonArray *array, guint index, const char *name)
{
  const char *near = nearest (name);

  if (near != NULL)
    gradus_json_array_refuse (array, index, _("There is no metric “%s”; did you mean “%s”?"), name,
                              near);
  else
    gradus_json_array_refuse (array, index,
                              _("This version of Gradus has no metric “%s”; write “accuracy”."),
                              name);
  return NULL;
}

GradusMetric *
gradus_metric_read (GradusJsonArray *array, guint index)
{
  g_autoptr (GradusJsonObject) object = NULL;
  g_autoptr (GradusJsonObject) config = NULL;
  g_autoptr (GradusMetric) self = NULL;
  JsonNode   *node = gradus_json_array_node (array, index);
  const char *name;

  if (node == NULL || !JSON_NODE_HOLDS_OBJECT (node))
    {
      name = gradus_json_array_string (array, index);
      if (name == NULL)
        return NULL;
      return find (name) != NULL ? metric_new (find (name), name) : refuse_name (array, index, name);
    }
  if ((object = gradus_json_array_object (array, index)) == NULL)
    return NULL;
  gradus_json_unavailable (object, "formula", NULL);
  gradus_json_ignore (object, "module", "registered_name", NULL);
  gradus_json_require (object, "class_name", NULL);
  if ((name = gradus_json_string (object, "class_name", NULL)) == NULL)
    return NULL;
  if (find (name) == NULL)
    return refuse_name (array, index, name);
  self = metric_new (find (name), name);
  if ((config = gradus_json_object (object, "config")) != NULL)
    {
      read_config (self, config);
      if (!gradus_json_end (config, NULL))
        return NULL;
    }
  return gradus_json_end (object, NULL) ? g_steal_pointer (&self) : NULL;
}

static void
write_arguments (const GradusMetric *self, JsonObject *config)
{
  switch (self->klass->kind)
    {
    case GRADUS_METRIC_BINARY:
    case GRADUS_METRIC_CONFUSION:
      if (self->threshold != 0.5)
        json_object_set_double_member (config, "threshold", self->threshold);
      break;
    case GRADUS_METRIC_TOP_K:
    case GRADUS_METRIC_SPARSE_TOP_K:
      json_object_set_int_member (config, "k", self->k);
      break;
    case GRADUS_METRIC_PRECISION:
    case GRADUS_METRIC_RECALL:
      if (self->thresholds[0] >= 0)
        json_object_set_double_member (config, "thresholds", self->thresholds[0]);
      if (self->top_k > 0)
        json_object_set_int_member (config, "top_k", self->top_k);
      if (self->class_id >= 0)
        json_object_set_int_member (config, "class_id", self->class_id);
      break;
    case GRADUS_METRIC_AUC:
      json_object_set_int_member (config, "num_thresholds", self->n_thresholds);
      json_object_set_string_member (config, "curve", curve_names[self->pr]);
      json_object_set_string_member (config, "summation_method", summation_names[self->summation]);
      if (self->from_logits)
        json_object_set_boolean_member (config, "from_logits", TRUE);
      break;
    case GRADUS_METRIC_F1:
      json_object_set_string_member (config, "average", average_names[self->average]);
      if (self->threshold >= 0)
        json_object_set_double_member (config, "threshold", self->threshold);
      break;
    case GRADUS_METRIC_LOSS:
      if (self->loss.from_logits)
        json_object_set_boolean_member (config, "from_logits", TRUE);
      break;
    default:
      break;
    }
}

JsonNode *
gradus_metric_write (const GradusMetric *self)
{
  g_autoptr (JsonObject) config = json_object_new ();
  g_autoptr (JsonObject) object = json_object_new ();

  write_arguments (self, config);
  if (json_object_get_size (config) == 0 && find (self->name) == self->klass)
    return json_node_init_string (json_node_alloc (), self->name);
  json_object_set_string_member (config, "name", self->name);
  json_object_set_string_member (object, "class_name", self->klass->class_name);
  json_object_set_object_member (object, "config", json_object_ref (config));
  return json_node_init_object (json_node_alloc (), object);
}
