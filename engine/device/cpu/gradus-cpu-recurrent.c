/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-recurrent.h"

#include <string.h>

typedef struct
{
  GradusKernel    base;
  GradusRecurrent r;
  guint           n_inputs;
  guint           n_tiles;        /* of samples */
  gint64          first, second;  /* columns of R that a step multiplies by h, and then by r h */
  gsize           packed_k, packed_r, packed_s, tiles, tile; /* floats: offsets, and size of a tile's */
} Recurrent;

/* What a tile works on. */
typedef struct
{
  const Recurrent        *k;
  const GradusKernelArgs *args;
  const float            *bias, *mask, *drop, *state, *carry;
  float                  *y, *c, *kept;
  gint64                  begin, rows;
  float                  *hd, *product, *zero; /* rows * units, rows * gates * units, units */
} Tile;

static float *
scratch (const Recurrent *k, const GradusKernelArgs *args, gsize offset)
{
  return (float *) args->scratch + offset;
}

static void
pack_tile (gpointer data, guint panel)
{
  const GradusCpuCall *call = data;
  const Recurrent     *k = (const Recurrent *) call->kernel;
  const GradusRecurrent *r = &k->r;
  const float *b[3] = { call->args->inputs[GRADUS_RECURRENT_KERNEL], call->args->inputs[GRADUS_RECURRENT_RECURRENT],
                        (const float *) call->args->inputs[GRADUS_RECURRENT_RECURRENT] + k->first };
  const gint64 depth[3] = { r->features, r->units, r->units };
  const gint64 width[3] = { r->gates * r->units, k->first, k->second };
  const gsize  to[3] = { k->packed_k, k->packed_r, k->packed_s };
  gint64       p = panel;

  for (guint i = 0; i < 3; i++)
    {
      gint64 n = gradus_panel_count (width[i]), column = p * GRADUS_PANEL_WIDTH;

      if (p < n)
        {
          gradus_panel_pack (b[i] + column, r->gates * r->units, 1, depth[i],
                             MIN (GRADUS_PANEL_WIDTH, width[i] - column),
                             scratch (k, call->args, to[i]) + column * depth[i]);
          return;
        }
      p -= n;
    }
}

static const float *
state_before (const Tile *t, gint64 row, gint64 step)
{
  const GradusRecurrent *r = &t->k->r;
  gint64                 b = t->begin + row;

  if (step > 0)
    return t->y + (b * r->time + step - 1) * r->units;
  return t->state ? t->state + b * r->units : t->zero;
}

static void
drop_states (const Tile *t, gint64 step)
{
  const GradusRecurrent *r = &t->k->r;

  for (gint64 row = 0; row < t->rows; row++)
    {
      const float *h = state_before (t, row, step);
      float       *to = t->hd + row * r->units;

      if (t->drop == NULL)
        memcpy (to, h, (gsize) r->units * sizeof *h);
      else
        for (gint64 i = 0; i < r->units; i++)
          to[i] = h[i] * t->drop[(t->begin + row) * r->units + i];
    }
}

static void
add_rows (float *to, const float *product, const float *bias, gint64 n)
{
  if (bias != NULL)
    _Pragma ("GCC ivdep") for (gint64 i = 0; i < n; i++) to[i] = to[i] + product[i] + bias[i];
  else
    _Pragma ("GCC ivdep") for (gint64 i = 0; i < n; i++) to[i] = to[i] + product[i];
}

static void
simple_row (const Tile *t, float *kept, const float *product, float *h)
{
  gint64 u = t->k->r.units;

  add_rows (kept, product, t->bias, u);
  gradus_recurrent_activate_row (t->k->r.activation, kept, kept, u);
  memcpy (h, kept, (gsize) u * sizeof *h);
}

static void
lstm_row (const Tile *t, float *kept, const float *product, const float *c0, float *c, float *h)
{
  const GradusRecurrent *r = &t->k->r;
  gint64                 u = r->units;

  add_rows (kept, product, t->bias, 4 * u);
  gradus_recurrent_activate_row (r->recurrent_activation, kept, kept, 2 * u);
  gradus_recurrent_activate_row (r->activation, kept + 2 * u, kept + 2 * u, u);
  gradus_recurrent_activate_row (r->recurrent_activation, kept + 3 * u, kept + 3 * u, u);
  _Pragma ("GCC ivdep") for (gint64 i = 0; i < u; i++) c[i] = kept[u + i] * c0[i] + kept[i] * kept[2 * u + i];
  gradus_recurrent_activate_row (r->activation, c, h, u);
  _Pragma ("GCC ivdep") for (gint64 i = 0; i < u; i++) h[i] *= kept[3 * u + i];
}

/* z and r, and what stands beside them. */
static void
gru_gates (const Tile *t, float *kept, const float *product, const float *hd)
{
  const GradusRecurrent *r = &t->k->r;
  gint64                 u = r->units;
  const float           *more = t->bias != NULL && r->cell == GRADUS_CELL_GRU_AFTER ? t->bias + 3 * u : NULL;

  if (more != NULL)
    add_rows (kept, more, NULL, 2 * u);
  add_rows (kept, product, t->bias, 2 * u);
  gradus_recurrent_activate_row (r->recurrent_activation, kept, kept, 2 * u);
  if (r->cell == GRADUS_CELL_GRU)
    _Pragma ("GCC ivdep") for (gint64 i = 0; i < u; i++) kept[3 * u + i] = kept[u + i] * hd[i];
  else
    for (gint64 i = 0; i < u; i++)
      kept[3 * u + i] = product[2 * u + i] + (more ? more[2 * u + i] : 0.0f);
}

static void
gru_row (const Tile *t, float *kept, const float *product, const float *h0, float *h)
{
  const GradusRecurrent *r = &t->k->r;
  gint64                 u = r->units;

  if (t->bias != NULL)
    _Pragma ("GCC ivdep") for (gint64 i = 0; i < u; i++) kept[2 * u + i] += t->bias[2 * u + i];
  if (r->cell == GRADUS_CELL_GRU)
    _Pragma ("GCC ivdep") for (gint64 i = 0; i < u; i++) kept[2 * u + i] += product[i];
  else
    _Pragma ("GCC ivdep") for (gint64 i = 0; i < u; i++) kept[2 * u + i] += kept[u + i] * kept[3 * u + i];
  gradus_recurrent_activate_row (r->activation, kept + 2 * u, kept + 2 * u, u);
  _Pragma ("GCC ivdep") for (gint64 i = 0; i < u; i++) h[i] = kept[i] * h0[i] + (1.0f - kept[i]) * kept[2 * u + i];
}

static float *
kept_row (const Tile *t, gint64 row, gint64 step)
{
  const GradusRecurrent *r = &t->k->r;

  return t->kept + ((t->begin + row) * r->time + gradus_recurrent_at (r, step)) * r->kept * r->units;
}

static gboolean
is_padding (const Tile *t, gint64 row, gint64 step)
{
  const GradusRecurrent *r = &t->k->r;

  return t->mask != NULL && t->mask[(t->begin + row) * r->time + gradus_recurrent_at (r, step)] == 0.0f;
}

static void
finish_row (const Tile *t, gint64 row, gint64 step)
{
  const Recurrent       *k = t->k;
  const GradusRecurrent *r = &k->r;
  gint64                 u = r->units, b = t->begin + row, out = (b * r->time + step) * u;
  const float           *h0 = state_before (t, row, step), *c0 = NULL;
  const float           *product = t->product + row * r->gates * u;
  float                 *h = t->y + out, *kept = kept_row (t, row, step);

  if (r->cell == GRADUS_CELL_LSTM)
    c0 = step > 0 ? t->c + out - u : t->carry ? t->carry + b * u : t->zero;
  if (is_padding (t, row, step))
    {
      memcpy (h, h0, (gsize) u * sizeof *h);
      if (c0 != NULL)
        memcpy (t->c + out, c0, (gsize) u * sizeof *h);
      memset (kept, 0, (gsize) (r->kept * u) * sizeof *kept);
    }
  else if (r->cell == GRADUS_CELL_SIMPLE)
    simple_row (t, kept, product, h);
  else if (r->cell == GRADUS_CELL_LSTM)
    lstm_row (t, kept, product, c0, t->c + out, h);
  else
    gru_row (t, kept, product, h0, h);
}

static void
take_step (const Tile *t, gint64 step)
{
  const Recurrent       *k = t->k;
  const GradusRecurrent *r = &k->r;
  gint64                 u = r->units, m = r->gates * u;

  if (step == 0 && t->state == NULL)
    {
      memset (t->product, 0, (gsize) (t->rows * m) * sizeof (float));
      memset (t->hd, 0, (gsize) (t->rows * u) * sizeof (float));
    }
  else
    {
      drop_states (t, step);
      gradus_panel_multiply (t->rows, k->first, u, t->hd, u, 1, scratch (k, t->args, k->packed_r), t->product, m,
                             FALSE);
    }
  if (r->cell >= GRADUS_CELL_GRU)
    for (gint64 row = 0; row < t->rows; row++)
      gru_gates (t, kept_row (t, row, step), t->product + row * m, t->hd + row * u);
  if (r->cell == GRADUS_CELL_GRU)
    gradus_panel_multiply (t->rows, u, u, kept_row (t, 0, step) + 3 * u, r->time * r->kept * u, 1,
                           scratch (k, t->args, k->packed_s), t->product, m, FALSE);
  for (gint64 row = 0; row < t->rows; row++)
    finish_row (t, row, step);
}

static void
sequence_tile (gpointer data, guint tile)
{
  const GradusCpuCall    *call = data;
  const Recurrent        *k = (const Recurrent *) call->kernel;
  const GradusKernelArgs *args = call->args;
  const GradusRecurrent  *r = &k->r;
  float *own = scratch (k, args, k->tiles + tile * k->tile);
  Tile   t = { .k = k, .args = args, .begin = (gint64) tile * GRADUS_RECURRENT_ROWS, .y = args->outputs[0] };

  t.rows = MIN (GRADUS_RECURRENT_ROWS, r->batch - t.begin);
  t.bias = gradus_recurrent_optional (call->kernel, args, k->n_inputs, GRADUS_RECURRENT_BIAS);
  t.mask = gradus_recurrent_optional (call->kernel, args, k->n_inputs, GRADUS_RECURRENT_MASK);
  t.drop = gradus_recurrent_optional (call->kernel, args, k->n_inputs, GRADUS_RECURRENT_DROP);
  t.state = gradus_recurrent_optional (call->kernel, args, k->n_inputs, GRADUS_RECURRENT_STATE);
  t.carry = gradus_recurrent_optional (call->kernel, args, k->n_inputs, GRADUS_RECURRENT_CARRY);
  t.c = r->cell == GRADUS_CELL_LSTM ? args->outputs[1] : NULL;
  t.kept = args->outputs[r->cell == GRADUS_CELL_LSTM ? 2 : 1];
  t.hd = own;
  t.product = t.hd + gradus_recurrent_part ((gsize) (GRADUS_RECURRENT_ROWS * r->units));
  t.zero = t.product + gradus_recurrent_part ((gsize) (GRADUS_RECURRENT_ROWS * r->gates * r->units));
  memset (t.zero, 0, (gsize) r->units * sizeof *t.zero);
  /* x K of all steps at once. */
  gradus_panel_multiply (t.rows * r->time, r->gates * r->units, r->features,
                         (const float *) args->inputs[GRADUS_RECURRENT_X] + t.begin * r->time * r->features,
                         r->features, 1, scratch (k, args, k->packed_k),
                         t.kept + t.begin * r->time * r->kept * r->units, r->kept * r->units, FALSE);
  for (gint64 step = 0; step < r->time; step++)
    take_step (&t, step);
}

static void
run (const GradusCpuCall *call)
{
  const Recurrent       *k = (const Recurrent *) call->kernel;
  const GradusRecurrent *r = &k->r;
  guint panels = (guint) (gradus_panel_count (r->gates * r->units) + gradus_panel_count (k->first)
                          + gradus_panel_count (k->second));

  gradus_cpu_for (call, pack_tile, (gpointer) call, panels, (double) r->gates * r->units * (r->features + r->units));
  gradus_cpu_for (call, sequence_tile, (gpointer) call, k->n_tiles, k->base.nanoseconds);
}

static GradusKernel *
prepare (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  Recurrent       *k;
  GradusRecurrent *r;
  gint64           columns;

  if (request->inputs[0].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  k = gradus_cpu_kernel_create (Recurrent, "c");
  k->n_inputs = request->node->n_inputs;
  k->r = gradus_recurrent_read (request->node, &request->inputs[0], &request->inputs[1]);
  r = &k->r;
  columns = r->gates * r->units;
  k->second = r->cell == GRADUS_CELL_GRU ? r->units : 0;
  k->first = columns - k->second;
  k->n_tiles = gradus_cpu_tiles (r->batch, GRADUS_RECURRENT_ROWS);
  k->packed_k = 0;
  k->packed_r = gradus_recurrent_part (gradus_panel_size (r->features, columns));
  k->packed_s = k->packed_r + gradus_recurrent_part (gradus_panel_size (r->units, k->first));
  k->tiles = k->packed_s + gradus_recurrent_part (gradus_panel_size (r->units, k->second));
  k->tile = gradus_recurrent_part ((gsize) (GRADUS_RECURRENT_ROWS * r->units))
            + gradus_recurrent_part ((gsize) (GRADUS_RECURRENT_ROWS * columns))
            + gradus_recurrent_part ((gsize) r->units);
  k->base.scratch = (k->tiles + k->n_tiles * k->tile) * sizeof (float);
  k->base.run = run;
  k->base.nanoseconds = (double) r->batch * r->time * columns * (r->features + r->units) / 50;
  return &k->base;
}

const GradusCpuRow GRADUS_CPU_ROWS (recurrent)[] = {
  { "simple_rnn", prepare, NULL },
  { "lstm", prepare, NULL },
  { "gru", prepare, NULL },
  { NULL, NULL, NULL },
};
