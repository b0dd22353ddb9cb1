/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-stages.h"

#include <glib/gi18n-lib.h>

#define MAX_STAGES 64
#define DEFAULT_BATCH_SIZE 32

typedef enum
{
  CACHE,
  SHUFFLE,
  BATCH,
  PREFETCH,
  ONE_HOT,
  VECTORIZE,
  FILL_MISSING,
  NORMALIZE,
  RESCALE,
  CAST,
  N_STAGES
} Stage;

static const char *const stage_names[] = { "cache",        "shuffle",   "batch",   "prefetch", "one_hot", "vectorize",
                                           "fill_missing", "normalize", "rescale", "cast",     "resize",  "crop",
                                           "pad",          "filter",    "augment", "shard",    "repeat",  NULL };

/* Where each stage stands that may stand only once; -1: nowhere. */
typedef int Places[RESCALE];

static void
warn (GradusStages *self, guint at, const char *sentence)
{
  g_ptr_array_add (self->warnings, g_strdup_printf ("/data/pipeline/%u: %s", at, sentence));
}

static gboolean
is_object (GradusJsonObject *stage, const char *key)
{
  JsonNode *node = gradus_json_node (stage, key);

  return node != NULL && JSON_NODE_HOLDS_OBJECT (node);
}

static void
read_cache (GradusStages *self, GradusJsonObject *stage)
{
  static const char *const places[] = { "memory", NULL };

  if (is_object (stage, "cache"))
    gradus_json_refuse_unavailable (stage, "cache", "file");
  self->cache = gradus_json_enum (stage, "cache", places, -1) == 0;
}

static void
read_shuffle (GradusStages *self, GradusJsonObject *stage)
{
  if (is_object (stage, "shuffle"))
    gradus_json_refuse_unavailable (stage, "shuffle", "window");
  self->shuffle = gradus_json_bool (stage, "shuffle", FALSE);
}

static void
read_batch (GradusStages *self, GradusJsonObject *stage)
{
  g_autoptr (GradusJsonObject) object = NULL;

  if (!is_object (stage, "batch"))
    {
      self->batch_size =
          gradus_json_int (stage, "batch", 1, GRADUS_MAX_BATCH_SIZE, DEFAULT_BATCH_SIZE);
      return;
    }
  object = gradus_json_object (stage, "batch");
  if (object == NULL)
    return;
  gradus_json_unavailable (object, "pad", "balance", "buckets", NULL);
  self->batch_size = gradus_json_int (object, "size", 1, GRADUS_MAX_BATCH_SIZE, DEFAULT_BATCH_SIZE);
  self->drop_remainder = gradus_json_bool (object, "drop_remainder", FALSE);
  gradus_json_end (object, NULL);
}

static void
read_prefetch (GradusStages *self, GradusJsonObject *stage)
{
  static const char *const words[] = { "auto", NULL };
  JsonNode                *node = gradus_json_node (stage, "prefetch");

  if (JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING)
    self->prefetch = gradus_json_enum (stage, "prefetch", words, 0) - 1;
  else
    self->prefetch = gradus_json_int (stage, "prefetch", 0, GRADUS_MAX_PREFETCH, -1);
}

static void
read_one_hot (GradusStages *self, GradusJsonObject *stage)
{
  g_autoptr (GradusJsonObject) object = gradus_json_object (stage, "one_hot");

  if (object == NULL)
    return;
  self->one_hot = gradus_json_int (object, "classes", 1, GRADUS_MAX_CLASSES, -1);
  gradus_json_end (object, NULL);
}

static void
read_rescale (GradusStages *self, GradusJsonObject *stage)
{
  g_autoptr (GradusJsonObject) object = gradus_json_object (stage, "rescale");
  GradusRescale rescale;

  if (object == NULL)
    return;
  if (self->n_rescales == GRADUS_MAX_RESCALES)
    {
      gradus_json_refuse (stage, "rescale", _ ("At most %d “rescale” stages are possible."),
                          GRADUS_MAX_RESCALES);
      return;
    }
  rescale.scale = (float) gradus_json_double (object, "scale", -1e30, 1e30, 1);
  rescale.offset = (float) gradus_json_double (object, "offset", -1e30, 1e30, 0);
  gradus_json_end (object, NULL);
  self->rescales[self->n_rescales++] = rescale;
  self->to_float = TRUE;
}

static void
read_cast (GradusStages *self, GradusJsonObject *stage)
{
  static const char *const types[] = { "float32", NULL };

  gradus_json_enum (stage, "cast", types, 0);
  self->to_float = TRUE;
}

static void
read_vectorize (GradusStages *self, GradusJsonObject *stage)
{
  static const char *const standards[] = { "lower_and_strip_punctuation", "lower", "strip_punctuation", "none", NULL };
  static const char *const splits[] = { "whitespace", "character", NULL };
  g_autoptr (GradusJsonObject) object = gradus_json_object (stage, "vectorize");

  if (object == NULL)
    return;
  gradus_json_require (object, "length", NULL);
  gradus_json_ignore (object, "words", NULL);
  self->vectorize.vocabulary = gradus_json_int (object, "vocabulary", 3, GRADUS_MAX_VOCABULARY, 10000);
  self->vectorize.length = gradus_json_int (object, "length", 1, GRADUS_MAX_WORDS, 1);
  self->vectorize.standardize = gradus_json_enum (object, "standardize", standards, 0);
  self->vectorize.characters = gradus_json_enum (object, "split", splits, 0) == 1;
  gradus_json_end (object, NULL);
}

static void
read_fill_missing (GradusStages *self, GradusJsonObject *stage)
{
  static const char *const words[] = { "mean", NULL };
  g_autoptr (GradusJsonObject) object = gradus_json_object (stage, "fill_missing");
  JsonNode *node;

  if (object == NULL)
    return;
  gradus_json_ignore (object, "fitted", NULL);
  node = gradus_json_node (object, "value");
  self->fill = GRADUS_FILL_MEAN;
  if (node != NULL && json_node_get_value_type (node) == G_TYPE_STRING)
    gradus_json_enum (object, "value", words, 0);
  else if (gradus_json_has (object, "value"))
    {
      self->fill = GRADUS_FILL_VALUE;
      self->fill_value = (float) gradus_json_double (object, "value", -1e30, 1e30, 0);
    }
  gradus_json_end (object, NULL);
  self->to_float = TRUE;
}

static void
read_normalize (GradusStages *self, GradusJsonObject *stage)
{
  static const char *const words[] = { "train", NULL };
  g_autoptr (GradusJsonObject) object = gradus_json_object (stage, "normalize");

  if (object == NULL)
    return;
  gradus_json_ignore (object, "mean", "scale", NULL);
  gradus_json_enum (object, "fit", words, 0);
  gradus_json_end (object, NULL);
  self->normalize = self->to_float = TRUE;
}

static void (*const readers[N_STAGES]) (GradusStages *self, GradusJsonObject *stage) = {
  [CACHE] = read_cache,         [SHUFFLE] = read_shuffle,           [BATCH] = read_batch,
  [PREFETCH] = read_prefetch,   [ONE_HOT] = read_one_hot,           [RESCALE] = read_rescale,
  [CAST] = read_cast,           [VECTORIZE] = read_vectorize,       [FILL_MISSING] = read_fill_missing,
  [NORMALIZE] = read_normalize,
};

/* The stage's name, which is its only key; -1 after refusing. */
static int
stage_kind (GradusJsonObject *stage)
{
  g_autoptr (GList) keys = json_object_get_members (gradus_json_peek (stage));
  const char *near;

  if (g_list_length (keys) != 1)
    {
      gradus_json_refuse (stage, NULL,
                          _ ("A stage is an object with one key, its name; %u keys are there."),
                          g_list_length (keys));
      return -1;
    }
  for (int i = 0; stage_names[i] != NULL; i++)
    if (g_str_equal (keys->data, stage_names[i]))
      return i;
  near = gradus_json_nearest (keys->data, stage_names);
  if (near != NULL)
    gradus_json_refuse (stage, NULL, _ ("There is no stage “%s”; did you mean “%s”?"),
                        (char *) keys->data, near);
  else
    gradus_json_refuse (stage, NULL, _ ("There is no stage “%s”."), (char *) keys->data);
  return -1;
}

static void
read_stage (GradusStages *self, GradusJsonArray *list, guint at, Places places)
{
  g_autoptr (GradusJsonObject) stage = gradus_json_array_object (list, at);
  int kind = stage != NULL ? stage_kind (stage) : -1;

  if (kind < 0)
    return;
  if (kind >= N_STAGES)
    {
      gradus_json_refuse_unavailable (stage, NULL, stage_names[kind]);
      return;
    }
  gradus_json_require (stage, stage_names[kind], NULL);
  if (gradus_json_failed (stage))
    return;
  if (kind < RESCALE)
    {
      if (places[kind] >= 0)
        gradus_json_refuse (stage, NULL, _ ("“%s” stands twice in the list; remove one."),
                            stage_names[kind]);
      places[kind] = at;
    }
  readers[kind](self, stage);
  if (kind >= ONE_HOT)
    json_array_add_object_element (self->kept, json_object_ref (gradus_json_peek (stage)));
}

static void
check_order (GradusStages *self, GradusJsonArray *list, const Places places, guint n)
{
  if (self->shuffle && places[BATCH] >= 0 && places[SHUFFLE] > places[BATCH])
    gradus_json_array_refuse (list, places[SHUFFLE],
                              _ ("“shuffle” stands after “batch” and would only change the order "
                                 "of whole batches; move it before “batch”."));
  if (self->cache && self->shuffle && places[CACHE] > places[SHUFFLE])
    warn (self, places[CACHE],
          _ ("“cache” stands after “shuffle”. It keeps the samples, not their order, which still "
             "changes with every epoch; move it before “shuffle” so that the list says so."));
  if (self->cache && places[BATCH] >= 0 && places[CACHE] > places[BATCH])
    warn (self, places[CACHE],
          _ ("“cache” stands after “batch”. It keeps samples, not batches; move it before "
             "“batch” so that the list says so."));
  if (places[PREFETCH] >= 0 && places[PREFETCH] != (int) n - 1)
    warn (self, places[PREFETCH],
          _ ("“prefetch” is not the last stage. It works on finished batches wherever it stands; "
             "move it to the end so that the list says so."));
}

void
gradus_stages_read (GradusStages *self, GradusJsonObject *data)
{
  g_autoptr (GradusJsonArray) list = gradus_json_array (data, "pipeline", MAX_STAGES);
  Places places;
  guint  n = list != NULL ? gradus_json_array_length (list) : 0;

  *self = (GradusStages){ .batch_size = DEFAULT_BATCH_SIZE };
  self->warnings = g_ptr_array_new_with_free_func (g_free);
  self->kept = json_array_new ();
  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    places[i] = -1;
  for (guint i = 0; i < n && !gradus_json_failed (data); i++)
    read_stage (self, list, i, places);
  if (n > 0 && !gradus_json_failed (data))
    check_order (self, list, places, n);
  g_ptr_array_add (self->warnings, NULL);
}

void
gradus_stages_clear (GradusStages *self)
{
  g_clear_pointer (&self->warnings, g_ptr_array_unref);
  g_clear_pointer (&self->kept, json_array_unref);
}
