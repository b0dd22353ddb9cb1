/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-kernel.h"

#include <math.h>
#include <string.h>

/*
 * The variable is seen as rows of columns, a stack of matrices as one long one; tiles are so many
 * rows. Sums are float64: of a row inside its tile, of a column one part a tile, added in order.
 */
typedef struct
{
  GradusKernel base;
  gint64       n, matrices, rows, columns; /* of one matrix; columns 0: a vector */
  gint64       length;                     /* elements of a tile */
  guint        n_tiles;
  gboolean     decays;
  double       beta_2_decay, epsilon_1, epsilon_2, clip_threshold;
} Adafactor;

/* What the tiles share. In scratch: sums of tiles, the mean of each matrix's rows, parts of columns. */
typedef struct
{
  const GradusCpuCall *call;
  const Adafactor     *k;
  double *sums, *means, *parts;
  float   scale, beta, keep, factor;
} Stage;

static float
scalar (const void *value)
{
  return *(const float *) value;
}

static gint64
begin_of (const Adafactor *k, guint tile)
{
  return (gint64) tile * k->length;
}

static gint64
end_of (const Adafactor *k, guint tile)
{
  return MIN ((gint64) (tile + 1) * k->length, k->n);
}

/* Decay, the squares of the weights, and what the gradient adds to the means. */
static void
moments_tile (gpointer data, guint tile)
{
  const Stage *s = data;
  const Adafactor *k = s->k;
  float *w = s->call->args->inputs[0], *row = s->call->args->inputs[1];
  const float *gradient = s->call->args->inputs[2];
  double *part = s->parts + (gint64) tile * k->columns;
  double squares = 0, rest = 1.0 - s->beta;

  for (gint64 i = begin_of (k, tile); i < end_of (k, tile); i++)
    {
      w[i] *= s->keep;
      squares += (double) w[i] * w[i];
    }
  s->sums[tile] = squares;
  if (k->columns == 0)
    {
      for (gint64 i = begin_of (k, tile); i < end_of (k, tile); i++)
        {
          double g = gradient[i] * s->scale;

          row[i] = (float) (s->beta * row[i] + rest * (g * g + k->epsilon_1));
        }
      return;
    }
  for (gint64 c = 0; c < k->columns; c++)
    part[c] = 0;
  for (gint64 i = begin_of (k, tile); i < end_of (k, tile); i += k->columns)
    {
      double sum = 0;

      for (gint64 c = 0; c < k->columns; c++)
        {
          double g = gradient[i + c] * s->scale, square = g * g + k->epsilon_1;

          sum += square;
          part[c] += square;
        }
      row[i / k->columns] = (float) (s->beta * row[i / k->columns] + rest * (sum / k->columns));
    }
}

/* Tiles do not cross matrices: their parts are those of one. */
static void
join_columns (Stage *s)
{
  const Adafactor *k = s->k;
  guint  tiles = k->n_tiles / (guint) MAX (1, k->matrices);
  float *row = s->call->args->inputs[1], *column = s->call->args->inputs[7];
  double rest = 1.0 - s->beta;

  for (gint64 m = 0; m < k->matrices; m++)
    {
      double mean = 0;

      for (gint64 c = 0; c < k->columns; c++)
        {
          double sum = 0;

          for (guint t = 0; t < tiles; t++)
            sum += s->parts[(m * tiles + t) * k->columns + c];
          column[m * k->columns + c] =
              (float) (s->beta * column[m * k->columns + c] + rest * (sum / k->rows));
        }
      for (gint64 r = 0; r < k->rows; r++)
        mean += row[m * k->rows + r];
      s->means[m] = mean / k->rows;
    }
}

/* The step of element @i before it is clipped; @root: of its row. The roots are multiplied and not the
 * means, whose product is 0 where a row and a column without any gradient meet. */
static inline float
raw_step (const Stage *s, gint64 i, float root, const float *column, gint64 c)
{
  const float *gradient = s->call->args->inputs[2];

  return gradient[i] * s->scale / (column != NULL ? root * sqrtf (column[c]) : root);
}

/* Either the squares of the steps, or the steps themselves. */
static inline __attribute__ ((always_inline)) void
steps (const Stage *s, guint tile, gboolean take)
{
  const Adafactor *k = s->k;
  float *w = s->call->args->inputs[0];
  const float *rows = s->call->args->inputs[1], *columns = NULL;
  gint64 width = k->columns > 0 ? k->columns : 1;
  double squares = 0;

  for (gint64 i = begin_of (k, tile); i < end_of (k, tile); i += width)
    {
      gint64 r = i / width, m = k->columns > 0 ? r / k->rows : 0;
      float  root = sqrtf (k->columns > 0 ? (float) (rows[r] / s->means[m]) : rows[r]);

      if (k->columns > 0)
        columns = (const float *) s->call->args->inputs[7] + m * k->columns;
      for (gint64 c = 0; c < width; c++)
        {
          float step = raw_step (s, i + c, root, columns, c);

          if (take)
            w[i + c] -= s->factor * step;
          else
            squares += (double) step * step;
        }
    }
  if (!take)
    s->sums[tile] = squares;
}

static void
squares_tile (gpointer data, guint tile)
{
  steps (data, tile, FALSE);
}

static void
take_tile (gpointer data, guint tile)
{
  steps (data, tile, TRUE);
}

static double
root_mean (const Stage *s)
{
  double sum = 0;

  for (guint i = 0; i < s->k->n_tiles; i++)
    sum += s->sums[i];
  return sqrt (sum / MAX (1, s->k->n));
}

static void
adafactor_run (const GradusCpuCall *call)
{
  const Adafactor *k = (const Adafactor *) call->kernel;
  void *const     *in = call->args->inputs;
  double rate = scalar (in[4]), step = scalar (in[5]), alpha;
  double nanoseconds = k->base.nanoseconds / 3;
  Stage  s = { call, k, call->args->scratch };

  s.means = s.sums + k->n_tiles;
  s.parts = s.means + k->matrices;
  s.scale = scalar (in[3]);
  s.beta = (float) (1 - pow (step, k->beta_2_decay));
  s.keep = k->decays ? (float) (1 - scalar (in[6]) * rate) : 1.0f;
  gradus_cpu_for (call, moments_tile, &s, k->n_tiles, nanoseconds);
  alpha = root_mean (&s);
  alpha = (alpha < k->epsilon_2 ? k->epsilon_2 : alpha) * MIN (rate, 1 / sqrt (step));
  if (k->columns > 0)
    join_columns (&s);
  gradus_cpu_for (call, squares_tile, &s, k->n_tiles, nanoseconds);
  s.factor = (float) (alpha / MAX (1, root_mean (&s) / k->clip_threshold));
  gradus_cpu_for (call, take_tile, &s, k->n_tiles, nanoseconds);
}

static void
cut (Adafactor *k, const GradusShape *shape, gboolean factored)
{
  gint64 rows;

  k->length = GRADUS_CPU_TILE;
  k->n_tiles = gradus_cpu_tiles (k->n, k->length);
  k->matrices = 1;
  if (!factored || k->n == 0)
    return;
  k->columns = shape->dims[shape->rank - 1];
  k->rows = shape->dims[shape->rank - 2];
  k->matrices = k->n / (k->rows * k->columns);
  /* As many rows as a tile's elements make, but a divisor of them, so that none has two matrices. */
  rows = CLAMP (GRADUS_CPU_TILE / k->columns, 1, k->rows);
  while (k->matrices > 1 && k->rows % rows != 0)
    rows--;
  k->length = rows * k->columns;
  k->n_tiles = gradus_cpu_tiles (k->n, k->length);
}

static GradusKernel *
prepare (const GradusKernelRequest *request, gconstpointer data, GError **error)
{
  const GradusNode *node = request->node;
  Adafactor        *k;

  if (request->inputs[0].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  k = gradus_cpu_kernel_create (Adafactor, "c");
  k->n = gradus_cpu_count (&request->inputs[0]);
  cut (k, &request->inputs[0].shape, node->n_inputs > 7 && node->inputs[7] != GRADUS_NO_VALUE);
  k->decays = node->n_inputs > 6 && node->inputs[6] != GRADUS_NO_VALUE;
  k->beta_2_decay = gradus_node_float (node, "beta_2_decay");
  k->epsilon_1 = gradus_node_float (node, "epsilon_1");
  k->epsilon_2 = gradus_node_float (node, "epsilon_2");
  k->clip_threshold = gradus_node_float (node, "clip_threshold");
  k->base.run = adafactor_run;
  k->base.nanoseconds = 4.0 * (double) k->n;
  k->base.scratch = (k->n_tiles + k->matrices + (gint64) k->n_tiles * k->columns) * sizeof (double);
  return &k->base;
}

const GradusCpuRow GRADUS_CPU_ROWS (adafactor)[] = {
  { "adafactor_step", prepare, NULL },
  { NULL, NULL, NULL },
};
