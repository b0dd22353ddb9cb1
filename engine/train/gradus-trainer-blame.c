/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-trainer-private.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The finite values of what a node made, as it was when it was made: later ops may write over it. */
typedef struct
{
  gboolean known;
  double   min, max;
} Range;

typedef struct
{
  GradusTrainer    *trainer;
  Range            *ranges; /* by value */
  const GradusNode *node;   /* the first that made a bad value */
  GradusValueType   type;
  guint             output;
  gint64            index;
  double            value;
} Replay;

/* The log is in English, what a person is told now in his language. */
#define SAY(translated, text, ...)                                                                 \
  ((translated) ? g_strdup_printf (_ (text), __VA_ARGS__) : g_strdup_printf (text, __VA_ARGS__))

static double
element (GradusDType dtype, const void *data, gint64 i)
{
  return dtype == GRADUS_DTYPE_FLOAT64 ? ((const double *) data)[i] : ((const float *) data)[i];
}

static gboolean
is_float (GradusDType dtype)
{
  return dtype == GRADUS_DTYPE_FLOAT32 || dtype == GRADUS_DTYPE_FLOAT64;
}

/* The first element that is not finite, or -1; and the range of the others. */
static gint64
scan (GradusDType dtype, const void *data, gint64 n, Range *range)
{
  gint64 bad = -1;

  *range = (Range){ TRUE, INFINITY, -INFINITY };
  for (gint64 i = 0; i < n; i++)
    {
      double x = element (dtype, data, i);

      if (isfinite (x))
        {
          range->min = MIN (range->min, x);
          range->max = MAX (range->max, x);
        }
      else if (bad < 0)
        bad = i;
    }
  range->known = range->min <= range->max;
  return bad;
}

static gboolean
see_node (const GradusNode *node, const GradusValueType *types, const void *const *outputs, gint64 nanoseconds, gpointer data)
{
  Replay *self = data;

  for (guint k = 0; k < node->n_outputs; k++)
    {
      gint64 bad;

      if (!is_float (types[k].dtype))
        continue;
      bad = scan (types[k].dtype, outputs[k], gradus_shape_count (&types[k].shape), &self->ranges[node->outputs[k]]);
      if (bad < 0)
        continue;
      self->node = node;
      self->type = types[k];
      self->output = k;
      self->index = bad;
      self->value = element (types[k].dtype, outputs[k], bad);
      return FALSE;
    }
  return TRUE;
}

/* What was not made in the step: weights, hyperparameters, the batch. */
static void
scan_given (Replay *self, GradusValueId id)
{
  GradusExecution   *execution = self->trainer->train_execution;
  const GradusValue *value = gradus_program_value (self->trainer->train.program, id);
  gsize              bytes;
  g_autofree void   *data = NULL;

  if (self->ranges[id].known || !is_float (value->type.dtype) || value->kind == GRADUS_VALUE_TEMPORARY)
    return;
  bytes = gradus_execution_value_bytes (execution, id);
  data = g_try_malloc (MAX (bytes, 1));
  if (data != NULL && gradus_execution_read (execution, id, data, bytes, NULL))
    scan (value->type.dtype, data, (gint64) (bytes / gradus_dtype_size (value->type.dtype)), &self->ranges[id]);
}

static char *
number_text (double number)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  if (isnan (number))
    return g_strdup ("NaN");
  if (isinf (number))
    return g_strdup (number > 0 ? "+inf" : "-inf");
  return g_strdup (g_ascii_formatd (text, sizeof text, "%.4g", number));
}

/* [3, 7] */
static char *
place_text (const GradusShape *shape, gint64 index)
{
  GString *text = g_string_new ("]");

  for (gint i = (gint) shape->rank - 1; i >= 0; i--)
    {
      g_autofree char *place = g_strdup_printf ("%s%" PRId64, i > 0 ? ", " : "", index % shape->dims[i]);

      g_string_prepend (text, place);
      index /= shape->dims[i];
    }
  g_string_prepend_c (text, '[');
  return g_string_free (text, FALSE);
}

/* "x (64, 10) from -3.1 to 4.2" of each input whose range is known. */
static char *
inputs_text (Replay *self, gboolean translated)
{
  g_autoptr (GPtrArray) parts = g_ptr_array_new_with_free_func (g_free);

  for (guint k = 0; k < self->node->n_inputs; k++)
    {
      GradusValueId      id = self->node->inputs[k];
      const GradusValue *value = id == GRADUS_NO_VALUE ? NULL : gradus_program_value (self->trainer->train.program, id);
      g_autofree char   *name = NULL, *low = NULL, *high = NULL;

      if (value == NULL)
        continue;
      scan_given (self, id);
      if (!self->ranges[id].known)
        continue;
      name = value->name != NULL ? g_strdup (value->name) : SAY (translated, N_("input %u"), k + 1);
      low = number_text (self->ranges[id].min);
      high = number_text (self->ranges[id].max);
      g_ptr_array_add (parts, SAY (translated, N_("%s from %s to %s"), name, low, high));
    }
  g_ptr_array_add (parts, NULL);
  return g_strjoinv (", ", (char **) parts->pdata);
}

static char *
describe (Replay *self, gboolean translated)
{
  const GradusNode *node = self->node;
  g_autofree char  *place = place_text (&self->type.shape, self->index), *shape = gradus_shape_to_string (&self->type.shape);
  g_autofree char  *value = number_text (self->value), *inputs = inputs_text (self, translated);
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char  *first = NULL, *range = NULL, *hint = NULL;

  if (node->layer != NULL)
    first = SAY (translated, N_("The first is made by “%s” of layer “%s”: element %s of its output %s is %s."), node->op->name,
                 node->layer, place, shape, value);
  else
    first = SAY (translated, N_("The first is made by “%s”: element %s of its output %s is %s."), node->op->name, place, shape, value);
  g_string_append (text, first);
  if (*inputs != '\0')
    {
      range = SAY (translated, N_("It was given %s."), inputs);
      g_string_append_printf (text, " %s", range);
    }
  if (node->op->nan_hint != NULL)
    {
      hint = SAY (translated, N_("The usual reason: %s."), translated ? _ (node->op->nan_hint) : node->op->nan_hint);
      g_string_append_printf (text, " %s", hint);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* A batch that brings such a value is the data's fault, not an op's. */
static gboolean
blame_batch (GradusTrainer *self, const GradusBatch *batch, GradusBlame *blame)
{
  guint                  n;
  const GradusArraySpec *specs = self->config.train->funcs->inputs (self->config.train, &n);

  for (guint i = 0; i < n; i++)
    {
      gint64 size = MAX (1, batch->time);
      Range  range;
      gint64 bad, sample;

      if (!is_float (specs[i].dtype))
        continue;
      size = 1;
      for (guint k = 0; k < specs[i].rank; k++)
        size *= specs[i].dims[k] > 0 ? specs[i].dims[k] : MAX (1, batch->time);
      bad = scan (specs[i].dtype, batch->inputs[i], size * batch->n_samples, &range);
      if (bad < 0)
        continue;
      sample = batch->samples != NULL ? batch->samples[bad / size] : bad / size;
      blame->log = SAY (FALSE, N_("Sample %" PRId64 " of the training data has a value that is not finite in the input “%s”."), sample, specs[i].name);
      blame->told = SAY (TRUE, N_("Sample %" PRId64 " of the training data has a value that is not finite in the input “%s”."), sample, specs[i].name);
      blame->data = g_strdup_printf ("\"sample\": %" PRId64 ", \"input\": %u", sample, i);
      return TRUE;
    }
  return FALSE;
}

void
gradus_trainer_blame (GradusTrainer *self, const GradusBatch *batch, const GradusStepResult *result, guint64 key, GradusBlame *blame)
{
  Replay replay = { .trainer = self };

  *blame = (GradusBlame){ NULL };
  if (blame_batch (self, batch, blame))
    return;
  replay.ranges = g_new0 (Range, gradus_program_n_values (self->train.program) + 1);
  if (gradus_execution_inspect (self->train_execution, result->sizes, self->config.seed, key, GRADUS_PHASE_BACKWARD,
                                see_node, &replay, NULL)
      && replay.node != NULL)
    {
      blame->log = describe (&replay, FALSE);
      blame->told = describe (&replay, TRUE);
      blame->layer = replay.node->layer;
      blame->data = g_strdup_printf ("\"op\": \"%s\", \"node\": %u, \"output\": %u, \"index\": %" PRId64, replay.node->op->name,
                                     replay.node->id, replay.output, replay.index);
    }
  g_free (replay.ranges);
}

void
gradus_blame_clear (GradusBlame *blame)
{
  g_clear_pointer (&blame->log, g_free);
  g_clear_pointer (&blame->told, g_free);
  g_clear_pointer (&blame->data, g_free);
}
