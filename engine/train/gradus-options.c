/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-options.h"

#include <glib/gi18n-lib.h>
#include <string.h>

static const char *const mode_names[] = { "auto", "min", "max", NULL };
static const char *const remat_names[] = { "none", "auto", "sqrt", NULL };
static const char *const nonfinite_names[] = { "stop", "skip", "ignore", NULL };
static const char *const clip_names[] = { NULL, "value", "norm", "global_norm" };

gboolean
gradus_mode_is_min (GradusMode mode, const char *monitor)
{
  if (mode != GRADUS_MODE_AUTO)
    return mode == GRADUS_MODE_MIN;
  return gradus_metric_is_min (monitor);
}

/* "train/loss", "validation/accuracy": what this trainer can watch. With several heads their names are
 * known with the model alone, and checked there. */
static char *
read_monitor (GradusTrainerOptions *self, GradusJsonObject *object, const char *fallback)
{
  const char *name = gradus_json_string (object, "monitor", fallback);
  g_autofree char *keras = NULL;

  if (name == NULL)
    return NULL;
  /* Keras's names. */
  if (g_str_has_prefix (name, "val_"))
    name = keras = g_strconcat ("validation/", name + 4, NULL);
  else if (strchr (name, '/') == NULL)
    name = keras = g_strconcat ("train/", name, NULL);
  if (gradus_heads_may_monitor (&self->heads, name))
    return g_strdup (name);
  gradus_json_refuse (object, "monitor",
                      _("There is no series “%s” to watch in this run; write “%s”."), name,
                      "validation/loss");
  return NULL;
}

static void
read_compile (GradusTrainerOptions *self, GradusJsonObject *compile)
{
  if (!gradus_optimizer_read (&self->optimizer, compile) ||
      !gradus_heads_read (&self->heads, compile))
    return;
}

static void
read_clip (GradusTrainerOptions *self, GradusJsonObject *fit)
{
  const double keras[] = { 0, self->optimizer.clipvalue, self->optimizer.clipnorm,
                           self->optimizer.global_clipnorm };
  g_autoptr (GradusJsonObject) clip = gradus_json_object (fit, "clip");
  guint found = 0;

  for (guint i = 1; i < G_N_ELEMENTS (clip_names); i++)
    {
      double limit = keras[i];

      if (clip != NULL && gradus_json_has (clip, clip_names[i]))
        limit = gradus_json_double (clip, clip_names[i], 0, 1e30, 0);
      if (limit <= 0)
        continue;
      found++;
      self->clip = i;
      self->clip_limit = limit;
    }
  if (found > 1)
    gradus_json_refuse (fit, "clip",
                        _("Gradients are clipped in one way: by “value”, “norm” or “global_norm”. "
                          "Leave one of them."));
  if (clip != NULL)
    gradus_json_end (clip, NULL);
}

static void
read_early_stopping (GradusTrainerOptions *self, GradusJsonObject *fit)
{
  g_autoptr (GradusJsonObject) object = gradus_json_object (fit, "early_stopping");

  if (object == NULL)
    return;
  self->stop_early = TRUE;
  self->stop_monitor = read_monitor (self, object, "validation/loss");
  self->patience = gradus_json_int (object, "patience", 0, 1000000, 0);
  self->min_delta = gradus_json_double (object, "min_delta", 0, 1e30, 0);
  self->stop_mode = gradus_json_enum (object, "mode", mode_names, GRADUS_MODE_AUTO);
  self->restore_best = gradus_json_bool (object, "restore_best", FALSE);
  gradus_json_end (object, NULL);
}

/* Keras's ReduceLROnPlateau. */
static void
read_plateau (GradusTrainerOptions *self, GradusJsonObject *fit)
{
  g_autoptr (GradusJsonObject) object = gradus_json_object (fit, "reduce_on_plateau");

  if (object == NULL)
    return;
  self->reduce = TRUE;
  self->reduce_monitor = read_monitor (self, object, "validation/loss");
  self->reduce_factor = gradus_json_double (object, "factor", 0, 0.9999999, 0.1);
  self->reduce_patience = gradus_json_int (object, "patience", 0, 1000000, 10);
  self->reduce_min_delta = gradus_json_double (object, "min_delta", 0, 1e30, 1e-4);
  self->reduce_mode = gradus_json_enum (object, "mode", mode_names, GRADUS_MODE_AUTO);
  self->cooldown = gradus_json_int (object, "cooldown", 0, 1000000, 0);
  self->min_lr = gradus_json_double (object, "min_lr", 0, 1e6, 0);
  gradus_json_end (object, NULL);
}

/* The optimizer keeps the average; "ema" is the short way to ask for it. */
static void
read_ema (GradusTrainerOptions *self, GradusJsonObject *fit)
{
  g_autoptr (GradusJsonObject) object = gradus_json_object (fit, "ema");

  if (object == NULL)
    return;
  self->optimizer.use_ema = TRUE;
  self->optimizer.ema_momentum = gradus_json_double (object, "decay", 0, 1, 0.99);
  gradus_json_end (object, NULL);
}

/* Bytes, or "80 %" of what is free. */
static void
read_budget (GradusTrainerOptions *self, GradusJsonObject *fit)
{
  JsonNode   *node = gradus_json_node (fit, "memory_budget");
  const char *text;
  char       *end;

  if (node == NULL || JSON_NODE_HOLDS_NULL (node))
    return;
  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_STRING)
    {
      self->memory_budget = gradus_json_int (fit, "memory_budget", 1, G_MAXINT64, 0);
      return;
    }
  text = gradus_json_string (fit, "memory_budget", "");
  self->memory_share = g_ascii_strtod (text, &end) / 100;
  while (*end == ' ')
    end++;
  if (!g_str_equal (end, "%") || !(self->memory_share > 0 && self->memory_share <= 1))
    gradus_json_refuse (fit, "memory_budget", _("Write a number of bytes, or a share such as “80 %%”."));
}

static void
read_fit (GradusTrainerOptions *self, GradusJsonObject *fit)
{
  static const char *const precisions[] = { "float32", "mixed_bfloat16", "mixed_float16", NULL };

  self->epochs = gradus_json_int (fit, "epochs", 1, 1000000, 1);
  self->steps_per_epoch = gradus_json_int (fit, "steps_per_epoch", 1, G_MAXINT32, 0);
  self->validation_every = gradus_json_int (fit, "validation_every", 1, 1000000, 1);
  self->threads = gradus_json_int (fit, "threads", 0, 1024, 0);
  self->device = g_strdup (gradus_json_string (fit, "device", NULL));
  self->on_nonfinite = gradus_json_enum (fit, "on_nonfinite", nonfinite_names, 0);
  read_clip (self, fit);
  read_early_stopping (self, fit);
  if (gradus_json_has (fit, "precision") &&
      JSON_NODE_HOLDS_OBJECT (gradus_json_node (fit, "precision")))
    gradus_json_refuse_unavailable (fit, "precision", "precision");
  else if (gradus_json_enum (fit, "precision", precisions, 0) > 0)
    gradus_json_refuse_unavailable (fit, "precision",
                                    gradus_json_string (fit, "precision", "precision"));
  self->rematerialize = gradus_json_enum (fit, "rematerialize", remat_names, GRADUS_REMAT_AUTO);
  read_budget (self, fit);
  self->accumulate = gradus_json_int (fit, "accumulate", 1, 1000000,
                                      MAX (1, self->optimizer.accumulate));
  self->warmup_steps = gradus_json_int (fit, "warmup_steps", 0, 1000000000000, 0);
  read_plateau (self, fit);
  read_ema (self, fit);
}

static void
read_log (GradusTrainerOptions *self, GradusJsonObject *log)
{
  g_autoptr (GradusJsonArray) watch = gradus_json_array (log, "watch", 0);

  self->scalars_every = gradus_json_int (log, "scalars_every", 1, G_MAXINT32, 1);
  self->histograms_every = gradus_json_int (log, "histograms_every", 0, G_MAXINT32, 64);
  self->per_layer_every = gradus_json_int (log, "per_layer_every", 0, G_MAXINT32, 1);
  if (gradus_json_bool (log, "profile", FALSE))
    gradus_json_refuse_unavailable (log, "profile", "profile");
}

static void
read_checkpoints (GradusTrainerOptions *self, GradusJsonObject *checkpoints)
{
  JsonNode *every = gradus_json_node (checkpoints, "every");

  if (every != NULL && JSON_NODE_HOLDS_VALUE (every) &&
      json_node_get_value_type (every) != G_TYPE_STRING)
    self->every = gradus_json_int (checkpoints, "every", 1, G_MAXINT64, 1);
  else if (g_strcmp0 (gradus_json_string (checkpoints, "every", "epoch"), "epoch") != 0)
    gradus_json_refuse (checkpoints, "every", _("Write “epoch” or a number of steps."));
  self->keep = gradus_json_int (checkpoints, "keep", 1, 10000, 3);
  self->best = gradus_json_bool (checkpoints, "best", TRUE);
  self->monitor = read_monitor (self, checkpoints, "validation/loss");
  self->mode = gradus_json_enum (checkpoints, "mode", mode_names, GRADUS_MODE_AUTO);
  gradus_json_unavailable (checkpoints, "disk_budget", NULL);
}

static JsonObject *
write_plateau (GradusTrainerOptions *self)
{
  JsonObject *object = json_object_new ();

  json_object_set_string_member (object, "monitor", self->reduce_monitor);
  json_object_set_double_member (object, "factor", self->reduce_factor);
  json_object_set_int_member (object, "patience", self->reduce_patience);
  json_object_set_double_member (object, "min_delta", self->reduce_min_delta);
  json_object_set_string_member (object, "mode", mode_names[self->reduce_mode]);
  json_object_set_int_member (object, "cooldown", self->cooldown);
  json_object_set_double_member (object, "min_lr", self->min_lr);
  return object;
}

static JsonObject *
write_fit (GradusTrainerOptions *self)
{
  JsonObject *fit = json_object_new ();

  json_object_set_int_member (fit, "epochs", self->epochs);
  if (self->steps_per_epoch > 0)
    json_object_set_int_member (fit, "steps_per_epoch", self->steps_per_epoch);
  json_object_set_int_member (fit, "validation_every", self->validation_every);
  if (self->threads > 0)
    json_object_set_int_member (fit, "threads", self->threads);
  if (self->device != NULL)
    json_object_set_string_member (fit, "device", self->device);
  json_object_set_string_member (fit, "precision", "float32");
  if (self->clip != GRADUS_CLIP_NONE)
    {
      JsonObject *clip = json_object_new ();

      json_object_set_double_member (clip, clip_names[self->clip], self->clip_limit);
      json_object_set_object_member (fit, "clip", clip);
    }
  if (self->stop_early)
    {
      JsonObject *stop = json_object_new ();

      json_object_set_string_member (stop, "monitor", self->stop_monitor);
      json_object_set_int_member (stop, "patience", self->patience);
      json_object_set_double_member (stop, "min_delta", self->min_delta);
      json_object_set_string_member (stop, "mode", mode_names[self->stop_mode]);
      json_object_set_boolean_member (stop, "restore_best", self->restore_best);
      json_object_set_object_member (fit, "early_stopping", stop);
    }
  if (self->accumulate > 1)
    json_object_set_int_member (fit, "accumulate", self->accumulate);
  if (self->warmup_steps > 0)
    json_object_set_int_member (fit, "warmup_steps", self->warmup_steps);
  if (self->reduce)
    json_object_set_object_member (fit, "reduce_on_plateau", write_plateau (self));
  json_object_set_string_member (fit, "rematerialize", remat_names[self->rematerialize]);
  if (self->memory_budget > 0)
    json_object_set_int_member (fit, "memory_budget", self->memory_budget);
  else if (self->memory_share > 0)
    {
      char             number[G_ASCII_DTOSTR_BUF_SIZE];
      g_autofree char *text = g_strconcat (g_ascii_formatd (number, sizeof number, "%.6g", 100 * self->memory_share), " %", NULL);

      json_object_set_string_member (fit, "memory_budget", text);
    }
  json_object_set_string_member (fit, "on_nonfinite", nonfinite_names[self->on_nonfinite]);
  return fit;
}

static JsonObject *
write_options (GradusTrainerOptions *self)
{
  JsonObject *all = json_object_new ();
  JsonObject *compile = json_object_new ();
  JsonObject *log = json_object_new ();
  JsonObject *checkpoints = json_object_new ();

  json_object_set_object_member (compile, "optimizer", gradus_optimizer_write (&self->optimizer));
  gradus_heads_write (&self->heads, compile);
  json_object_set_int_member (log, "scalars_every", self->scalars_every);
  json_object_set_int_member (log, "histograms_every", self->histograms_every);
  json_object_set_int_member (log, "per_layer_every", self->per_layer_every);
  json_object_set_boolean_member (log, "profile", FALSE);
  if (self->every > 0)
    json_object_set_int_member (checkpoints, "every", self->every);
  else
    json_object_set_string_member (checkpoints, "every", "epoch");
  json_object_set_int_member (checkpoints, "keep", self->keep);
  json_object_set_boolean_member (checkpoints, "best", self->best);
  json_object_set_string_member (checkpoints, "monitor", self->monitor);
  json_object_set_string_member (checkpoints, "mode", mode_names[self->mode]);
  json_object_set_object_member (all, "compile", compile);
  json_object_set_object_member (all, "fit", write_fit (self));
  json_object_set_object_member (all, "log", log);
  json_object_set_object_member (all, "checkpoints", checkpoints);
  return all;
}

/* Reads one of the recipe's objects; an absent one is an empty one. */
static gboolean
read_part (GradusTrainerOptions *self,
           JsonObject           *part,
           const char           *origin,
           const char           *pointer,
           void (*read) (GradusTrainerOptions *self, GradusJsonObject *object),
           GError **error)
{
  g_autoptr (JsonObject) object = part ? json_object_ref (part) : json_object_new ();
  g_autoptr (JsonNode) node = json_node_init_object (json_node_alloc (), object);
  g_autoptr (GradusJsonObject) cursor = gradus_json_open_at (node, origin, pointer, error);

  if (cursor == NULL)
    return FALSE;
  read (self, cursor);
  return gradus_json_end (cursor, error);
}

GradusTrainerOptions *
gradus_trainer_options_new (JsonObject  *compile,
                            JsonObject  *fit,
                            JsonObject  *log,
                            JsonObject  *checkpoints,
                            const char  *origin,
                            JsonObject **normalized,
                            GError     **error)
{
  g_autoptr (GradusTrainerOptions) self = g_new0 (GradusTrainerOptions, 1);

  if (!read_part (self, compile, origin, "/compile", read_compile, error) ||
      !read_part (self, fit, origin, "/fit", read_fit, error) ||
      !read_part (self, log, origin, "/log", read_log, error) ||
      !read_part (self, checkpoints, origin, "/checkpoints", read_checkpoints, error))
    return NULL;
  if (normalized != NULL)
    *normalized = write_options (self);
  return g_steal_pointer (&self);
}

void
gradus_trainer_options_free (GradusTrainerOptions *options)
{
  gradus_heads_clear (&options->heads);
  g_free (options->device);
  gradus_optimizer_clear (&options->optimizer);
  g_free (options->stop_monitor);
  g_free (options->reduce_monitor);
  g_free (options->monitor);
  g_free (options);
}

gint64
gradus_trainer_options_epochs (GradusTrainerOptions *options)
{
  return options->epochs;
}

guint
gradus_trainer_options_threads (GradusTrainerOptions *options)
{
  return options->threads;
}

const char *
gradus_trainer_options_device (GradusTrainerOptions *options)
{
  return options->device;
}
