/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-loss.h"

#include "formula/gradus-formula.h"
#include "graph/gradus-op.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>

#define PLAIN(name, also, class_name) { GRADUS_LOSS_PLAIN, name, also, class_name, name }

static const GradusLossClass classes[] = {
  { GRADUS_LOSS_SPARSE, "sparse_categorical_crossentropy", NULL, "SparseCategoricalCrossentropy",
    NULL },
  { GRADUS_LOSS_CATEGORICAL, "categorical_crossentropy", NULL, "CategoricalCrossentropy", NULL },
  { GRADUS_LOSS_BINARY, "binary_crossentropy", "bce", "BinaryCrossentropy", NULL },
  { GRADUS_LOSS_BINARY_FOCAL, "binary_focal_crossentropy", NULL, "BinaryFocalCrossentropy", NULL },
  { GRADUS_LOSS_CATEGORICAL_FOCAL, "categorical_focal_crossentropy", NULL,
    "CategoricalFocalCrossentropy", NULL },
  PLAIN ("mean_squared_error", "mse", "MeanSquaredError"),
  PLAIN ("mean_absolute_error", "mae", "MeanAbsoluteError"),
  PLAIN ("mean_absolute_percentage_error", "mape", "MeanAbsolutePercentageError"),
  PLAIN ("mean_squared_logarithmic_error", "msle", "MeanSquaredLogarithmicError"),
  PLAIN ("huber", NULL, "Huber"),
  PLAIN ("log_cosh", "logcosh", "LogCosh"),
  PLAIN ("kl_divergence", "kld", "KLDivergence"),
  PLAIN ("poisson", NULL, "Poisson"),
  PLAIN ("hinge", NULL, "Hinge"),
  PLAIN ("squared_hinge", NULL, "SquaredHinge"),
  PLAIN ("categorical_hinge", NULL, "CategoricalHinge"),
  PLAIN ("cosine_similarity", NULL, "CosineSimilarity"),
  { GRADUS_LOSS_CTC, "ctc", NULL, "CTC", "ctc" },
};
static const GradusLossClass formula_class = { GRADUS_LOSS_FORMULA, "formula", NULL, "Formula", NULL };
/* What a formula of a loss is about. */
static const char *const formula_names[] = { "y", "p", "w", NULL };

const char *const *
gradus_loss_names (void)
{
  static const char *names[G_N_ELEMENTS (classes) + 1];

  for (gsize i = 0; i < G_N_ELEMENTS (classes); i++)
    names[i] = classes[i].name;
  return names;
}

gboolean
gradus_loss_find (GradusLoss *self, const char *name)
{
  for (gsize i = 0; i < G_N_ELEMENTS (classes); i++)
    if (g_str_equal (name, classes[i].name) || g_str_equal (name, classes[i].class_name) ||
        (classes[i].also != NULL && g_ascii_strcasecmp (name, classes[i].also) == 0))
      {
        *self = (GradusLoss){ .klass = &classes[i], .delta = 1, .gamma = 2, .alpha = 0.25 };
        return TRUE;
      }
  return FALSE;
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

static gboolean
find (GradusLoss *self, GradusJsonObject *cursor, const char *key, const char *name)
{
  const char *near;

  if (name == NULL || gradus_loss_find (self, name))
    return name != NULL;
  near = nearest (name);
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
is_crossentropy (const GradusLoss *self)
{
  return self->klass->kind != GRADUS_LOSS_CTC && self->klass->kind != GRADUS_LOSS_PLAIN &&
         self->klass->kind != GRADUS_LOSS_FORMULA;
}

static gboolean
is_focal (const GradusLoss *self)
{
  return self->klass->kind == GRADUS_LOSS_BINARY_FOCAL ||
         self->klass->kind == GRADUS_LOSS_CATEGORICAL_FOCAL;
}

static gboolean
is_huber (const GradusLoss *self)
{
  return g_str_equal (self->klass->name, "huber");
}

static gboolean
read_config (GradusLoss *self, GradusJsonObject *config)
{
  const char *reduction = gradus_json_string (config, "reduction", "sum_over_batch_size");

  if (reduction != NULL && !g_str_equal (reduction, "sum_over_batch_size") &&
      !g_str_equal (reduction, "auto"))
    gradus_json_refuse (config, "reduction",
                        _("This version of Gradus takes the mean of the batch, "
                          "“sum_over_batch_size”, not “%s”."),
                        reduction);
  gradus_json_ignore (config, "name", "dtype", "fn", NULL);
  if (is_crossentropy (self) || g_str_equal (self->klass->name, "cosine_similarity"))
    gradus_json_int (config, "axis", -1, -1, -1);
  if (is_crossentropy (self))
    self->from_logits = gradus_json_bool (config, "from_logits", FALSE);
  if (is_crossentropy (self) && self->klass->kind != GRADUS_LOSS_SPARSE)
    self->label_smoothing = gradus_json_double (config, "label_smoothing", 0, 1, 0);
  if (self->klass->kind == GRADUS_LOSS_SPARSE && gradus_json_has (config, "ignore_class"))
    {
      self->ignores = TRUE;
      self->ignore_class = gradus_json_int (config, "ignore_class", G_MININT32, G_MAXINT32, 0);
    }
  if (is_focal (self))
    {
      self->gamma = gradus_json_double (config, "gamma", 0, 100, 2);
      self->alpha = gradus_json_double (config, "alpha", 0, 1, 0.25);
    }
  if (self->klass->kind == GRADUS_LOSS_BINARY_FOCAL)
    self->balances = gradus_json_bool (config, "apply_class_balancing", FALSE);
  if (is_huber (self))
    self->delta = gradus_json_double (config, "delta", 0, 1e30, 1);
  return gradus_json_end (config, NULL);
}

static gboolean
read_formula (GradusLoss *self, GradusJsonObject *object)
{
  const char               *text = gradus_json_string (object, "formula", NULL);
  g_autoptr (GError)        error = NULL;
  g_autoptr (GradusFormula) formula = NULL;

  if (text == NULL)
    return FALSE;
  formula = gradus_formula_parse (text, &error);
  if (formula == NULL || !gradus_formula_check_names (formula, formula_names, &error))
    gradus_json_refuse (object, "formula", "%s", error->message);
  else if (!gradus_formula_uses (formula, "p"))
    gradus_json_refuse (object, "formula", _("The formula of a loss must use the prediction “p”."));
  *self = (GradusLoss){ .klass = &formula_class, .delta = 1, .formula = g_intern_string (text) };
  return gradus_json_end (object, NULL);
}

gboolean
gradus_loss_read (GradusLoss *self, GradusJsonObject *object, const char *key)
{
  g_autoptr (GradusJsonObject) inner = NULL;
  g_autoptr (GradusJsonObject) config = NULL;
  JsonNode *node = gradus_json_node (object, key);

  gradus_json_require (object, key, NULL);
  if (gradus_json_failed (object))
    return FALSE;
  if (JSON_NODE_HOLDS_VALUE (node))
    return find (self, object, key, gradus_json_string (object, key, NULL));
  if ((inner = gradus_json_object (object, key)) == NULL)
    return FALSE;
  if (gradus_json_has (inner, "formula"))
    return read_formula (self, inner);
  gradus_json_ignore (inner, "module", "registered_name", NULL);
  gradus_json_require (inner, "class_name", NULL);
  if (!find (self, inner, "class_name", gradus_json_string (inner, "class_name", NULL)))
    return FALSE;
  config = gradus_json_object (inner, "config");
  if (config != NULL && !read_config (self, config))
    return FALSE;
  return gradus_json_end (inner, NULL);
}

static JsonObject *
write_config (const GradusLoss *self)
{
  JsonObject *config = json_object_new ();

  if (self->from_logits)
    json_object_set_boolean_member (config, "from_logits", TRUE);
  if (self->label_smoothing > 0)
    json_object_set_double_member (config, "label_smoothing", self->label_smoothing);
  if (self->ignores)
    json_object_set_int_member (config, "ignore_class", self->ignore_class);
  if (is_huber (self) && self->delta != 1)
    json_object_set_double_member (config, "delta", self->delta);
  if (is_focal (self))
    {
      json_object_set_double_member (config, "gamma", self->gamma);
      json_object_set_double_member (config, "alpha", self->alpha);
    }
  if (self->balances)
    json_object_set_boolean_member (config, "apply_class_balancing", TRUE);
  return config;
}

JsonNode *
gradus_loss_write (const GradusLoss *self)
{
  JsonObject *config = write_config (self);
  JsonObject *object;
  JsonNode   *node;

  if (self->klass->kind == GRADUS_LOSS_FORMULA)
    {
      json_object_set_string_member (config, "formula", self->formula);
      node = json_node_new (JSON_NODE_OBJECT);
      json_node_take_object (node, config);
      return node;
    }
  if (json_object_get_size (config) == 0)
    {
      json_object_unref (config);
      return json_node_init_string (json_node_alloc (), self->klass->name);
    }
  object = json_object_new ();
  json_object_set_string_member (object, "class_name", self->klass->class_name);
  json_object_set_object_member (object, "config", config);
  node = json_node_init_object (json_node_alloc (), object);
  json_object_unref (object);
  return node;
}
