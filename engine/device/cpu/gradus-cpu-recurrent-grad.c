/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-recurrent.h"

#include <string.h>

/*
 * First each tile of samples goes back through its steps and writes the gradients of all gates and
 * the states that the steps were given; then the weights' gradients are products over all samples
 * and steps at once, a tile for each few columns.
 */
typedef struct
{
  GradusKernel    base;
  GradusRecurrent r;
  guint           n_inputs;
  guint           n_tiles;
  gint64          wanted;
  gint64          first, second;
  gint64          panels; /* of the columns of one gate */
  gsize           packed_k, packed_r, packed_s, dx, dr, hd, tiles, tile, columns, column; /* floats */
} RecurrentGrad;

typedef struct
{
  const RecurrentGrad    *k;
  const GradusKernelArgs *args;
  const float            *kept, *y, *c, *mask, *drop, *state, *carry, *dy, *dc;
  float                  *dx, *dr, *hd;
  gint64                  begin, rows;
  float                  *dh, *dcarry, *product, *zero, *row;
} Tile;

static float *
scratch (const RecurrentGrad *k, const GradusKernelArgs *args, gsize offset)
{
  return (float *) args->scratch + offset;
}

/* K^T, and R^T in the parts that a step multiplies by. */
static void
pack_tile (gpointer data, guint panel)
{
  const GradusCpuCall   *call = data;
  const RecurrentGrad   *k = (const RecurrentGrad *) call->kernel;
  const GradusRecurrent *r = &k->r;
  const float *recurrent = call->args->inputs[GRADUS_RECURRENT_GRAD_RECURRENT];
  const float *b[3] = { call->args->inputs[GRADUS_RECURRENT_GRAD_KERNEL], recurrent, recurrent + k->first };
  const gint64 depth[3] = { r->gates * r->units, k->first, k->second };
  const gint64 width[3] = { r->features, r->units, r->units };
  const gsize  to[3] = { k->packed_k, k->packed_r, k->packed_s };
  gint64       p = panel;

  for (guint i = 0; i < 3; i++)
    {
      gint64 n = gradus_panel_count (width[i]), column = p * GRADUS_PANEL_WIDTH, stride = r->gates * r->units;

      if (p < n)
        {
          gradus_panel_pack (b[i] + column * stride, 1, stride, depth[i], MIN (GRADUS_PANEL_WIDTH, width[i] - column),
                             scratch (k, call->args, to[i]) + column * depth[i]);
          return;
        }
      p -= n;
    }
}

static void
simple_row (const Tile *t, const float *kept, float *dx, float *dh)
{
  gint64 u = t->k->r.units;

  memcpy (dx, dh, (gsize) u * sizeof *dx);
  gradus_recurrent_slope_row (t->k->r.activation, kept, dx, u);
  memset (dh, 0, (gsize) u * sizeof *dh);
}

static void
lstm_row (const Tile *t, const float *kept, const float *c0, const float *c1, float *dx, float *dh, float *dc)
{
  const GradusRecurrent *r = &t->k->r;
  gint64                 u = r->units;
  float                 *ac = t->row, *slope = t->row + u;

  gradus_recurrent_activate_row (r->activation, c1, ac, u);
  for (gint64 i = 0; i < u; i++)
    slope[i] = 1.0f;
  gradus_recurrent_slope_row (r->activation, ac, slope, u);
  _Pragma ("GCC ivdep") for (gint64 i = 0; i < u; i++)
  {
    float d = dc[i] + dh[i] * kept[3 * u + i] * slope[i];

    dx[i] = d * kept[2 * u + i];
    dx[u + i] = d * c0[i];
    dx[2 * u + i] = d * kept[i];
    dx[3 * u + i] = dh[i] * ac[i];
    dc[i] = d * kept[u + i];
    dh[i] = 0.0f;
  }
  gradus_recurrent_slope_row (r->recurrent_activation, kept, dx, 2 * u);
  gradus_recurrent_slope_row (r->activation, kept + 2 * u, dx + 2 * u, u);
  gradus_recurrent_slope_row (r->recurrent_activation, kept + 3 * u, dx + 3 * u, u);
}

/* z and the new state; dh keeps what goes straight to the state before. */
static void
gru_row (const Tile *t, const float *kept, const float *h0, float *dx, float *dh)
{
  const GradusRecurrent *r = &t->k->r;
  gint64                 u = r->units;

  _Pragma ("GCC ivdep") for (gint64 i = 0; i < u; i++)
  {
    dx[i] = dh[i] * (h0[i] - kept[2 * u + i]);
    dx[2 * u + i] = dh[i] * (1.0f - kept[i]);
    dh[i] *= kept[i];
  }
  gradus_recurrent_slope_row (r->recurrent_activation, kept, dx, u);
  gradus_recurrent_slope_row (r->activation, kept + 2 * u, dx + 2 * u, u);
}

/* r, whose gradient waits for a product where it stands before it. */
static void
gru_reset_row (const Tile *t, const float *kept, const float *hd, float *product, float *dx, float *dr)
{
  const GradusRecurrent *r = &t->k->r;
  gint64                 u = r->units;

  if (r->cell == GRADUS_CELL_GRU)
    _Pragma ("GCC ivdep") for (gint64 i = 0; i < u; i++)
    {
      dx[u + i] = product[i] * hd[i];
      product[i] *= kept[u + i];
    }
  else
    {
      _Pragma ("GCC ivdep") for (gint64 i = 0; i < u; i++) dx[u + i] = dx[2 * u + i] * kept[3 * u + i];
      _Pragma ("GCC ivdep") for (gint64 i = 0; i < u; i++) dr[2 * u + i] = dx[2 * u + i] * kept[u + i];
    }
  gradus_recurrent_slope_row (r->recurrent_activation, kept + u, dx + u, u);
  if (r->cell == GRADUS_CELL_GRU_AFTER)
    memcpy (dr, dx, (gsize) (2 * u) * sizeof *dr);
}

static gint64
at (const Tile *t, gint64 row, gint64 step)
{
  return (t->begin + row) * t->k->r.time + gradus_recurrent_at (&t->k->r, step);
}

static gboolean
is_padding (const Tile *t, gint64 row, gint64 step)
{
  return t->mask != NULL && t->mask[at (t, row, step)] == 0.0f;
}

static const float *
before (const Tile *t, const float *states, const float *first, gint64 row, gint64 step)
{
  gint64 u = t->k->r.units, b = t->begin + row;

  if (step > 0)
    return states + (b * t->k->r.time + step - 1) * u;
  return first ? first + b * u : t->zero;
}

static void
add_row (float *to, const float *from, gint64 n)
{
  _Pragma ("GCC ivdep") for (gint64 i = 0; i < n; i++) to[i] += from[i];
}

static void
begin_row (const Tile *t, gint64 row, gint64 step)
{
  const GradusRecurrent *r = &t->k->r;
  gint64       u = r->units, m = r->gates * u, b = t->begin + row, place = at (t, row, step);
  gint64       out = (b * r->time + step) * u;
  const float *kept = t->kept + place * r->kept * u, *h0 = before (t, t->y, t->state, row, step);
  float       *dx = t->dx + place * m, *hd = t->hd + place * u;
  float       *dh = t->dh + row * u, *dc = t->dcarry + row * u;

  if (t->dy != NULL)
    add_row (dh, t->dy + out, u);
  if (t->dc != NULL)
    add_row (dc, t->dc + out, u);
  if (t->drop == NULL)
    memcpy (hd, h0, (gsize) u * sizeof *hd);
  else
    for (gint64 i = 0; i < u; i++)
      hd[i] = h0[i] * t->drop[b * u + i];
  if (is_padding (t, row, step))
    {
      memset (dx, 0, (gsize) m * sizeof *dx);
      if (t->dr != t->dx)
        memset (t->dr + place * m, 0, (gsize) m * sizeof *dx);
    }
  else if (r->cell == GRADUS_CELL_SIMPLE)
    simple_row (t, kept, dx, dh);
  else if (r->cell == GRADUS_CELL_LSTM)
    lstm_row (t, kept, before (t, t->c, t->carry, row, step), t->c + out, dx, dh, dc);
  else
    gru_row (t, kept, h0, dx, dh);
}

/* Adds to @t's dh what came back through R, times the factors of its way in. */
static void
add_product (const Tile *t, gint64 row)
{
  gint64       u = t->k->r.units;
  const float *drop = t->drop ? t->drop + (t->begin + row) * u : NULL;
  const float *product = t->product + row * u;
  float       *dh = t->dh + row * u;

  if (drop == NULL)
    add_row (dh, product, u);
  else
    for (gint64 i = 0; i < u; i++)
      dh[i] += product[i] * drop[i];
}

static void
step_back (const Tile *t, gint64 step)
{
  const RecurrentGrad   *k = t->k;
  const GradusRecurrent *r = &k->r;
  gint64 u = r->units, m = r->gates * u, stride = r->time * m, first = at (t, 0, step);

  for (gint64 row = 0; row < t->rows; row++)
    begin_row (t, row, step);
  if (r->cell == GRADUS_CELL_GRU)
    gradus_panel_multiply (t->rows, u, u, t->dx + first * m + 2 * u, stride, 1, scratch (k, t->args, k->packed_s),
                           t->product, u, FALSE);
  for (gint64 row = 0; row < t->rows && r->cell >= GRADUS_CELL_GRU; row++)
    if (!is_padding (t, row, step))
      gru_reset_row (t, t->kept + at (t, row, step) * r->kept * u, t->hd + at (t, row, step) * u,
                     t->product + row * u, t->dx + at (t, row, step) * m, t->dr + at (t, row, step) * m);
  gradus_panel_multiply (t->rows, u, k->first, t->dr + first * m, stride, 1, scratch (k, t->args, k->packed_r),
                         t->product, u, r->cell == GRADUS_CELL_GRU);
  for (gint64 row = 0; row < t->rows; row++)
    if (!is_padding (t, row, step))
      add_product (t, row);
}

static void
keep (const Tile *t, guint output, const float *from)
{
  gint64 u = t->k->r.units;

  if ((t->k->wanted & (1 << output)) != 0)
    memcpy ((float *) t->args->outputs[output] + t->begin * u, from, (gsize) (t->rows * u) * sizeof *from);
}

static void
sequence_tile (gpointer data, guint tile)
{
  const GradusCpuCall    *call = data;
  const RecurrentGrad    *k = (const RecurrentGrad *) call->kernel;
  const GradusKernelArgs *args = call->args;
  const GradusRecurrent  *r = &k->r;
  gsize  states = gradus_recurrent_part ((gsize) (GRADUS_RECURRENT_ROWS * r->units));
  float *own = scratch (k, args, k->tiles + tile * k->tile);
  gint64 m = r->gates * r->units;
  Tile   t = { .k = k, .args = args, .begin = (gint64) tile * GRADUS_RECURRENT_ROWS };

  t.rows = MIN (GRADUS_RECURRENT_ROWS, r->batch - t.begin);
#define OPTIONAL(slot) gradus_recurrent_optional (call->kernel, args, k->n_inputs, slot)
  t.y = OPTIONAL (GRADUS_RECURRENT_GRAD_Y);
  t.kept = OPTIONAL (GRADUS_RECURRENT_GRAD_KEPT);
  t.mask = OPTIONAL (GRADUS_RECURRENT_GRAD_MASK);
  t.drop = OPTIONAL (GRADUS_RECURRENT_GRAD_DROP);
  t.state = OPTIONAL (GRADUS_RECURRENT_GRAD_STATE);
  t.carry = OPTIONAL (GRADUS_RECURRENT_GRAD_CARRY);
  t.c = OPTIONAL (GRADUS_RECURRENT_GRAD_C);
  t.dy = OPTIONAL (GRADUS_RECURRENT_GRAD_DY);
  t.dc = OPTIONAL (GRADUS_RECURRENT_GRAD_DC);
#undef OPTIONAL
  t.dx = scratch (k, args, k->dx);
  t.dr = scratch (k, args, k->dr);
  t.hd = scratch (k, args, k->hd);
  t.dh = own;
  t.dcarry = t.dh + states;
  t.product = t.dcarry + states;
  t.zero = t.product + states;
  t.row = t.zero + gradus_recurrent_part ((gsize) r->units);
  memset (own, 0, (gsize) (t.row - own) * sizeof *own);
  for (gint64 step = r->time; step-- > 0;)
    step_back (&t, step);
  keep (&t, GRADUS_RECURRENT_GRAD_DSTATE, t.dh);
  keep (&t, GRADUS_RECURRENT_GRAD_DCARRY, t.dcarry);
  if ((k->wanted & (1 << GRADUS_RECURRENT_GRAD_DX)) != 0)
    gradus_panel_multiply (t.rows * r->time, r->features, m, t.dx + t.begin * r->time * m, m, 1,
                           scratch (k, args, k->packed_k),
                           (float *) args->outputs[GRADUS_RECURRENT_GRAD_DX] + t.begin * r->time * r->features,
                           r->features, FALSE);
}

/* Columns from @column on of a weight's gradient by a block of rows of the gates' gradients: A^T D. */
static void
add_block (const float *a, gint64 width, gint64 row, gint64 rows, const float *panel, gint64 n, float *to, gint64 m)
{
  gradus_panel_block (width, n, rows, a + row * width, 1, width, panel, to, m, row > 0);
}

static void
add_sums (const float *panel, gint64 rows, gint64 n, float *sums, gboolean add)
{
  float acc[GRADUS_PANEL_WIDTH] = { 0 };

  for (gint64 i = 0; i < rows; i++)
    for (gint64 j = 0; j < GRADUS_PANEL_WIDTH; j++)
      acc[j] += panel[i * GRADUS_PANEL_WIDTH + j];
  for (gint64 j = 0; j < n; j++)
    sums[j] = add ? sums[j] + acc[j] : acc[j];
}

/* What multiplies R on its way in: the state, but r h for the new state's gate of a GRU; that stands
 * among what was kept. */
static const float *
way_in (const RecurrentGrad *k, const GradusKernelArgs *args, gint64 gate, gint64 *stride)
{
  gint64 u = k->r.units;

  if (k->r.cell == GRADUS_CELL_GRU && gate == 2)
    {
      *stride = k->r.kept * u;
      return (const float *) args->inputs[GRADUS_RECURRENT_GRAD_KEPT] + 3 * u;
    }
  *stride = u;
  return scratch (k, args, k->hd);
}

static void
weight_tile (gpointer data, guint tile)
{
  const GradusCpuCall    *call = data;
  const RecurrentGrad    *k = (const RecurrentGrad *) call->kernel;
  const GradusKernelArgs *args = call->args;
  const GradusRecurrent  *r = &k->r;
  gint64 u = r->units, m = r->gates * u, gate = tile / k->panels, in_gate = tile % k->panels * GRADUS_PANEL_WIDTH;
  gint64 column = gate * u + in_gate, n = MIN (GRADUS_PANEL_WIDTH, u - in_gate), rows = r->batch * r->time, stride;
  const float *h = way_in (k, args, gate, &stride), *x = args->inputs[GRADUS_RECURRENT_GRAD_X];
  float *panel = scratch (k, args, k->columns + tile * k->column);
  float *dkernel = (float *) args->outputs[GRADUS_RECURRENT_GRAD_DKERNEL] + column;
  float *drecurrent = (float *) args->outputs[GRADUS_RECURRENT_GRAD_DRECURRENT] + column;
  float *dbias = (float *) args->outputs[GRADUS_RECURRENT_GRAD_DBIAS] + column;

  for (gint64 row = 0; row < rows; row += GRADUS_PANEL_DEPTH)
    {
      gint64 depth = MIN (GRADUS_PANEL_DEPTH, rows - row);

      gradus_panel_pack (scratch (k, args, k->dx) + row * m + column, m, 1, depth, n, panel);
      if ((k->wanted & (1 << GRADUS_RECURRENT_GRAD_DKERNEL)) != 0)
        add_block (x, r->features, row, depth, panel, n, dkernel, m);
      if ((k->wanted & (1 << GRADUS_RECURRENT_GRAD_DBIAS)) != 0)
        add_sums (panel, depth, n, dbias, row > 0);
      if (k->dr != k->dx)
        gradus_panel_pack (scratch (k, args, k->dr) + row * m + column, m, 1, depth, n, panel);
      if ((k->wanted & (1 << GRADUS_RECURRENT_GRAD_DRECURRENT)) != 0)
        gradus_panel_block (u, n, depth, h + row * stride, 1, stride, panel, drecurrent, m, row > 0);
      if ((k->wanted & (1 << GRADUS_RECURRENT_GRAD_DBIAS)) != 0 && r->cell == GRADUS_CELL_GRU_AFTER)
        add_sums (panel, depth, n, dbias + m, row > 0);
    }
}

static void
run (const GradusCpuCall *call)
{
  const RecurrentGrad   *k = (const RecurrentGrad *) call->kernel;
  const GradusRecurrent *r = &k->r;
  guint panels = (guint) (gradus_panel_count (r->features) + gradus_panel_count (r->units)
                          + (k->second > 0 ? gradus_panel_count (r->units) : 0));
  gint64 weights = 1 << GRADUS_RECURRENT_GRAD_DKERNEL | 1 << GRADUS_RECURRENT_GRAD_DRECURRENT
                   | 1 << GRADUS_RECURRENT_GRAD_DBIAS;

  gradus_cpu_for (call, pack_tile, (gpointer) call, panels, (double) r->gates * r->units * (r->features + r->units));
  gradus_cpu_for (call, sequence_tile, (gpointer) call, k->n_tiles, k->base.nanoseconds);
  if ((k->wanted & weights) != 0)
    gradus_cpu_for (call, weight_tile, (gpointer) call, (guint) (r->gates * k->panels), k->base.nanoseconds);
}

static gsize
place (gsize *end, gsize floats)
{
  gsize offset = *end;

  *end += gradus_recurrent_part (floats);
  return offset;
}

static GradusKernel *
prepare (const GradusKernelRequest *request, gconstpointer param, GError **error)
{
  RecurrentGrad   *k;
  GradusRecurrent *r;
  gint64           m, steps;
  gsize            end = 0;

  if (request->inputs[0].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  k = gradus_cpu_kernel_create (RecurrentGrad, "c");
  k->n_inputs = request->node->n_inputs;
  k->wanted = gradus_node_int (request->node, "wanted");
  k->r = gradus_recurrent_read (request->node, &request->inputs[0], &request->inputs[1]);
  r = &k->r;
  m = r->gates * r->units;
  steps = r->batch * r->time;
  k->second = r->cell == GRADUS_CELL_GRU ? r->units : 0;
  k->first = m - k->second;
  k->panels = gradus_panel_count (r->units);
  k->n_tiles = gradus_cpu_tiles (r->batch, GRADUS_RECURRENT_ROWS);
  k->packed_k = place (&end, gradus_panel_size (m, r->features));
  k->packed_r = place (&end, gradus_panel_size (k->first, r->units));
  k->packed_s = place (&end, gradus_panel_size (k->second, r->units));
  k->dx = place (&end, (gsize) (steps * m));
  k->dr = r->cell == GRADUS_CELL_GRU_AFTER ? place (&end, (gsize) (steps * m)) : k->dx;
  k->hd = place (&end, (gsize) (steps * r->units));
  k->tile = 3 * gradus_recurrent_part ((gsize) (GRADUS_RECURRENT_ROWS * r->units))
            + gradus_recurrent_part ((gsize) r->units) + gradus_recurrent_part ((gsize) (2 * r->units));
  k->tiles = place (&end, k->n_tiles * k->tile);
  k->column = GRADUS_PANEL_DEPTH * GRADUS_PANEL_WIDTH;
  k->columns = place (&end, (gsize) (r->gates * k->panels) * k->column);
  k->base.scratch = end * sizeof (float);
  k->base.run = run;
  k->base.nanoseconds = (double) steps * m * (r->features + r->units) / 50;
  return &k->base;
}

const GradusCpuRow GRADUS_CPU_ROWS (recurrent_grad)[] = {
  { "simple_rnn_grad", prepare, NULL },
  { "lstm_grad", prepare, NULL },
  { "gru_grad", prepare, NULL },
  { NULL, NULL, NULL },
};
