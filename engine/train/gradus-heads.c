/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-heads.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#define MAX_CLASSES 65536

static void
entry_free (gpointer data)
{
  GradusHeadOptions *entry = data;

  g_free (entry->head);
  g_ptr_array_unref (entry->metrics);
  g_free (entry);
}

static GradusHeadOptions *
find_entry (const GradusHeads *self, const char *head)
{
  for (guint i = 0; self->entries != NULL && i < self->entries->len; i++)
    {
      GradusHeadOptions *entry = self->entries->pdata[i];

      if (g_strcmp0 (entry->head, head) == 0)
        return entry;
    }
  return NULL;
}

static GradusHeadOptions *
get_entry (GradusHeads *self, const char *head)
{
  GradusHeadOptions *entry = find_entry (self, head);

  if (entry != NULL)
    return entry;
  entry = g_new0 (GradusHeadOptions, 1);
  entry->head = g_strdup (head);
  entry->weight = 1;
  entry->metrics = g_ptr_array_new_with_free_func ((GDestroyNotify) gradus_metric_free);
  g_ptr_array_add (self->entries, entry);
  return entry;
}

/* The dictionary by head at @key, with no more heads than there may be. */
static GradusJsonObject *
open_heads (GradusJsonObject *compile, const char *key)
{
  g_autoptr (GradusJsonObject) heads = gradus_json_object (compile, key);

  if (heads == NULL)
    return NULL;
  if (json_object_get_size (gradus_json_peek (heads)) > GRADUS_MAX_HEADS)
    {
      gradus_json_refuse (compile, key, _("A model has at most %d outputs here."), GRADUS_MAX_HEADS);
      return NULL;
    }
  return g_steal_pointer (&heads);
}

static gboolean
read_losses (GradusHeads *self, GradusJsonObject *compile)
{
  JsonNode *node = gradus_json_node (compile, "loss");
  g_autoptr (GradusJsonObject) heads = NULL;
  g_autoptr (GList) names = NULL;

  gradus_json_require (compile, "loss", NULL);
  if (gradus_json_failed (compile))
    return FALSE;
  if (!JSON_NODE_HOLDS_OBJECT (node) ||
      json_object_has_member (json_node_get_object (node), "class_name") ||
      json_object_has_member (json_node_get_object (node), "formula"))
    {
      GradusHeadOptions *entry = get_entry (self, NULL);

      entry->has_loss = TRUE;
      return gradus_loss_read (&entry->loss, compile, "loss");
    }
  self->loss_by_head = TRUE;
  if ((heads = open_heads (compile, "loss")) == NULL)
    return FALSE;
  names = json_object_get_members (gradus_json_peek (heads));
  for (GList *l = names; l != NULL; l = l->next)
    {
      GradusHeadOptions *entry = get_entry (self, l->data);

      entry->has_loss = TRUE;
      if (!gradus_loss_read (&entry->loss, heads, l->data))
        return FALSE;
    }
  return gradus_json_end (heads, NULL);
}

static gboolean
read_weights (GradusHeads *self, GradusJsonObject *compile)
{
  g_autoptr (GradusJsonObject) heads = NULL;
  g_autoptr (GList) names = NULL;

  if (!gradus_json_has (compile, "loss_weights"))
    return TRUE;
  self->weighted = TRUE;
  if ((heads = open_heads (compile, "loss_weights")) == NULL)
    return FALSE;
  names = json_object_get_members (gradus_json_peek (heads));
  for (GList *l = names; l != NULL; l = l->next)
    get_entry (self, l->data)->weight = gradus_json_double (heads, l->data, 0, 1e6, 1);
  return gradus_json_end (heads, NULL);
}

static gboolean
read_metric_list (GradusHeads *self, const char *head, GradusJsonArray *array)
{
  GradusHeadOptions *entry = get_entry (self, head);

  for (guint i = 0; i < gradus_json_array_length (array); i++)
    {
      GradusMetric *metric = gradus_metric_read (array, i);

      if (metric == NULL)
        return FALSE;
      g_ptr_array_add (entry->metrics, metric);
      for (guint k = 0; k + 1 < entry->metrics->len; k++)
        if (g_str_equal (((GradusMetric *) entry->metrics->pdata[k])->name, metric->name))
          {
            gradus_json_array_refuse (array, i, _("The metric “%s” stands here twice."),
                                      metric->name);
            return FALSE;
          }
      if (g_str_equal (metric->name, "loss"))
        {
          gradus_json_array_refuse (array, i, _("“loss” is the name of the loss. Name the metric "
                                                "otherwise."));
          return FALSE;
        }
    }
  return TRUE;
}

static gboolean
read_metrics (GradusHeads *self, GradusJsonObject *compile)
{
  JsonNode *node = gradus_json_node (compile, "metrics");
  g_autoptr (GradusJsonArray) array = NULL;
  g_autoptr (GradusJsonObject) heads = NULL;
  g_autoptr (GList) names = NULL;

  if (node == NULL || !JSON_NODE_HOLDS_OBJECT (node))
    {
      array = gradus_json_array (compile, "metrics", GRADUS_MAX_METRICS);
      return array == NULL ? !gradus_json_failed (compile) : read_metric_list (self, NULL, array);
    }
  self->metrics_by_head = TRUE;
  if ((heads = open_heads (compile, "metrics")) == NULL)
    return FALSE;
  names = json_object_get_members (gradus_json_peek (heads));
  for (GList *l = names; l != NULL; l = l->next)
    {
      g_autoptr (GradusJsonArray) list = gradus_json_array (heads, l->data, GRADUS_MAX_METRICS);

      if (list != NULL && !read_metric_list (self, l->data, list))
        return FALSE;
    }
  return gradus_json_end (heads, NULL);
}

static gboolean
read_class_weight (GradusHeads *self, GradusJsonObject *compile)
{
  JsonNode *node = gradus_json_node (compile, "class_weight");
  g_autoptr (GradusJsonObject) object = NULL;
  g_autoptr (GList) names = NULL;

  if (!gradus_json_has (compile, "class_weight"))
    return TRUE;
  if (JSON_NODE_HOLDS_VALUE (node))
    {
      const char *word = gradus_json_string (compile, "class_weight", "");

      self->balanced = g_strcmp0 (word, "balanced") == 0;
      if (!self->balanced)
        gradus_json_refuse (compile, "class_weight",
                            _("Write “balanced”, or a weight for each class: {\"0\": 1, \"1\": 4}."));
      return self->balanced;
    }
  if ((object = gradus_json_object (compile, "class_weight")) == NULL)
    return FALSE;
  names = json_object_get_members (gradus_json_peek (object));
  for (GList *l = names; l != NULL; l = l->next)
    {
      guint64 c;

      if (!g_ascii_string_to_unsigned (l->data, 10, 0, MAX_CLASSES - 1, &c, NULL))
        {
          gradus_json_refuse (object, l->data, _("A class is a whole number, counted from 0."));
          return FALSE;
        }
      if (c >= self->n_class_weights)
        {
          self->class_weights = g_renew (double, self->class_weights, c + 1);
          for (guint i = self->n_class_weights; i <= c; i++)
            self->class_weights[i] = 1;
          self->n_class_weights = c + 1;
        }
      self->class_weights[c] = gradus_json_double (object, l->data, 0, 1e6, 1);
    }
  return gradus_json_end (object, NULL);
}

gboolean
gradus_heads_read (GradusHeads *self, GradusJsonObject *compile)
{
  *self = (GradusHeads){ .entries = g_ptr_array_new_with_free_func (entry_free) };
  self->sample_weight = g_strdup (gradus_json_string (compile, "sample_weight", NULL));
  return read_losses (self, compile) && read_weights (self, compile) &&
         read_metrics (self, compile) && read_class_weight (self, compile);
}

static JsonArray *
write_metric_list (const GradusHeadOptions *entry)
{
  JsonArray *array = json_array_new ();

  for (guint i = 0; entry != NULL && i < entry->metrics->len; i++)
    json_array_add_element (array, gradus_metric_write (entry->metrics->pdata[i]));
  return array;
}

static void
write_dictionaries (const GradusHeads *self, JsonObject *compile)
{
  JsonObject *losses = json_object_new (), *metrics = json_object_new ();
  JsonObject *weights = json_object_new ();

  for (guint i = 0; i < self->entries->len; i++)
    {
      const GradusHeadOptions *entry = self->entries->pdata[i];

      if (entry->head == NULL)
        continue;
      if (entry->has_loss)
        json_object_set_member (losses, entry->head, gradus_loss_write (&entry->loss));
      if (entry->metrics->len > 0)
        json_object_set_array_member (metrics, entry->head, write_metric_list (entry));
      json_object_set_double_member (weights, entry->head, entry->weight);
    }
  if (self->loss_by_head)
    json_object_set_object_member (compile, "loss", json_object_ref (losses));
  if (self->metrics_by_head)
    json_object_set_object_member (compile, "metrics", json_object_ref (metrics));
  if (self->weighted)
    json_object_set_object_member (compile, "loss_weights", json_object_ref (weights));
  json_object_unref (losses);
  json_object_unref (metrics);
  json_object_unref (weights);
}

void
gradus_heads_write (const GradusHeads *self, JsonObject *compile)
{
  const GradusHeadOptions *every = find_entry (self, NULL);

  if (!self->loss_by_head)
    json_object_set_member (compile, "loss", gradus_loss_write (&every->loss));
  if (!self->metrics_by_head)
    json_object_set_array_member (compile, "metrics", write_metric_list (every));
  write_dictionaries (self, compile);
  if (self->balanced)
    json_object_set_string_member (compile, "class_weight", "balanced");
  else if (self->class_weights != NULL)
    {
      JsonObject *weights = json_object_new ();

      for (guint i = 0; i < self->n_class_weights; i++)
        {
          g_autofree char *name = g_strdup_printf ("%u", i);

          json_object_set_double_member (weights, name, self->class_weights[i]);
        }
      json_object_set_object_member (compile, "class_weight", weights);
    }
  if (self->sample_weight != NULL)
    json_object_set_string_member (compile, "sample_weight", self->sample_weight);
}

void
gradus_heads_clear (GradusHeads *self)
{
  g_clear_pointer (&self->entries, g_ptr_array_unref);
  g_clear_pointer (&self->class_weights, g_free);
  g_clear_pointer (&self->sample_weight, g_free);
}

gboolean
gradus_heads_check (const GradusHeads *self, const char *const *outputs, GError **error)
{
  for (guint i = 0; i < self->entries->len; i++)
    {
      const GradusHeadOptions *entry = self->entries->pdata[i];

      if (entry->head == NULL || g_strv_contains (outputs, entry->head))
        continue;
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _("/compile: the model has no output “%s”; its first one is “%s”. Name losses, "
                     "metrics and weights by the names of the output layers."),
                   entry->head, outputs[0]);
      return FALSE;
    }
  for (guint i = 0; outputs[i] != NULL; i++)
    if (gradus_heads_loss (self, outputs[i]) == NULL)
      {
        g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                     _("/compile/loss: the output “%s” has no loss. Give it one."), outputs[i]);
        return FALSE;
      }
  return TRUE;
}

const GradusLoss *
gradus_heads_loss (const GradusHeads *self, const char *output)
{
  const GradusHeadOptions *entry = find_entry (self, output);

  if (entry == NULL || !entry->has_loss)
    entry = find_entry (self, NULL);
  return entry != NULL && entry->has_loss ? &entry->loss : NULL;
}

double
gradus_heads_weight (const GradusHeads *self, const char *output)
{
  const GradusHeadOptions *entry = find_entry (self, output);

  return entry != NULL ? entry->weight : 1;
}

GPtrArray *
gradus_heads_metrics (const GradusHeads *self, const char *output)
{
  const GradusHeadOptions *entries[] = { find_entry (self, NULL), find_entry (self, output) };
  GPtrArray *metrics = g_ptr_array_new ();

  for (guint i = 0; i < 2; i++)
    for (guint k = 0; entries[i] != NULL && k < entries[i]->metrics->len; k++)
      g_ptr_array_add (metrics, entries[i]->metrics->pdata[k]);
  return metrics;
}

gboolean
gradus_heads_may_monitor (const GradusHeads *self, const char *series)
{
  const char *name = strchr (series, '/'), *last = strrchr (series, '/');

  if (name == NULL || !(g_str_has_prefix (series, "train/") || g_str_has_prefix (series, "validation/")))
    return FALSE;
  if (g_str_equal (last, "/loss"))
    return TRUE;
  for (guint i = 0; i < self->entries->len; i++)
    {
      const GradusHeadOptions *entry = self->entries->pdata[i];

      for (guint k = 0; k < entry->metrics->len; k++)
        if (g_str_equal (last + 1, ((GradusMetric *) entry->metrics->pdata[k])->name))
          return TRUE;
    }
  return FALSE;
}
