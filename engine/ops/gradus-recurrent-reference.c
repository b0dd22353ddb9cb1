/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/gradus-recurrent.h"

#include <math.h>
#include <string.h>

static double
activate (GradusCellActivation activation, double x)
{
  switch (activation)
    {
    case GRADUS_CELL_TANH:
      return tanh (x);
    case GRADUS_CELL_SIGMOID:
      return 1 / (1 + exp (-x));
    case GRADUS_CELL_LINEAR:
      return x;
    case GRADUS_CELL_RELU:
      return x < 0 ? 0 : x;
    case GRADUS_CELL_HARD_SIGMOID:
      return CLAMP (x + 3, 0, 6) / 6;
    case GRADUS_CELL_SOFTSIGN:
      return x / (1 + fabs (x));
    case GRADUS_CELL_ELU:
      return x > 0 ? x : expm1 (x);
    case GRADUS_CELL_SOFTPLUS:
      return fmax (x, 0) + log1p (exp (-fabs (x)));
    case GRADUS_CELL_EXPONENTIAL:
      return exp (x);
    case GRADUS_CELL_RELU6:
      return CLAMP (x, 0, 6);
    }
  return x;
}

/* The derivative where the value is @y. */
static double
slope (GradusCellActivation activation, double y)
{
  switch (activation)
    {
    case GRADUS_CELL_TANH:
      return 1 - y * y;
    case GRADUS_CELL_SIGMOID:
      return y * (1 - y);
    case GRADUS_CELL_LINEAR:
      return 1;
    case GRADUS_CELL_RELU:
      return y > 0;
    case GRADUS_CELL_HARD_SIGMOID:
      return y > 0 && y < 1 ? 1.0 / 6 : 0;
    case GRADUS_CELL_SOFTSIGN:
      return (1 - fabs (y)) * (1 - fabs (y));
    case GRADUS_CELL_ELU:
      return y > 0 ? 1 : y + 1;
    case GRADUS_CELL_SOFTPLUS:
      return 1 - exp (-y);
    case GRADUS_CELL_EXPONENTIAL:
      return y;
    case GRADUS_CELL_RELU6:
      return y > 0 && y < 6;
    }
  return 1;
}

/* y[m] += x[n] w[n, m], columns @first to @last of @m. */
static void
multiply (const double *x, const double *w, gint64 n, gint64 m, gint64 first, gint64 last, double *y)
{
  for (gint64 i = 0; i < n; i++)
    for (gint64 j = first; j < last; j++)
      y[j] += x[i] * w[i * m + j];
}

/* x[n] += y[m] w[n, m]^T, likewise. */
static void
multiply_back (const double *y, const double *w, gint64 n, gint64 m, gint64 first, gint64 last, double *x)
{
  for (gint64 i = 0; i < n; i++)
    for (gint64 j = first; j < last; j++)
      x[i] += y[j] * w[i * m + j];
}

/* One sample's step: @a is x K + b, @h and @c the states, @hd the state on its way to R. */
static void
take_step (const GradusRecurrent *r, const double *R, const double *rb, double *a, const double *hd, double *h, double *c, double *kept)
{
  gint64 u = r->units, m = r->gates * u;

  if (r->cell == GRADUS_CELL_SIMPLE || r->cell == GRADUS_CELL_LSTM)
    multiply (hd, R, u, m, 0, m, a);
  else
    multiply (hd, R, u, m, 0, 2 * u, a);
  for (gint64 i = 0; i < u; i++)
    switch (r->cell)
      {
      case GRADUS_CELL_SIMPLE:
        kept[i] = h[i] = activate (r->activation, a[i]);
        break;
      case GRADUS_CELL_LSTM:
        kept[i] = activate (r->recurrent_activation, a[i]);
        kept[u + i] = activate (r->recurrent_activation, a[u + i]);
        kept[2 * u + i] = activate (r->activation, a[2 * u + i]);
        kept[3 * u + i] = activate (r->recurrent_activation, a[3 * u + i]);
        c[i] = kept[u + i] * c[i] + kept[i] * kept[2 * u + i];
        h[i] = kept[3 * u + i] * activate (r->activation, c[i]);
        break;
      case GRADUS_CELL_GRU:
      case GRADUS_CELL_GRU_AFTER:
        kept[i] = activate (r->recurrent_activation, a[i] + (rb ? rb[i] : 0));
        kept[u + i] = activate (r->recurrent_activation, a[u + i] + (rb ? rb[u + i] : 0));
        kept[3 * u + i] = r->cell == GRADUS_CELL_GRU ? kept[u + i] * hd[i] : rb ? rb[2 * u + i] : 0;
        break;
      }
  if (r->cell != GRADUS_CELL_GRU && r->cell != GRADUS_CELL_GRU_AFTER)
    return;
  for (gint64 i = 0; i < u; i++)
    for (gint64 j = 0; j < u; j++)
      if (r->cell == GRADUS_CELL_GRU)
        a[2 * u + i] += kept[3 * u + j] * R[j * m + 2 * u + i];
      else
        kept[3 * u + i] += hd[j] * R[j * m + 2 * u + i];
  for (gint64 i = 0; i < u; i++)
    {
      if (r->cell == GRADUS_CELL_GRU_AFTER)
        a[2 * u + i] += kept[u + i] * kept[3 * u + i];
      kept[2 * u + i] = activate (r->activation, a[2 * u + i]);
      h[i] = kept[i] * h[i] + (1 - kept[i]) * kept[2 * u + i];
    }
}

static const double *
optional (const GradusReferenceCall *call, guint slot)
{
  return slot < call->node->n_inputs ? call->inputs[slot] : NULL;
}

void
gradus_recurrent_reference (const GradusReferenceCall *call)
{
  GradusRecurrent r = gradus_recurrent_read (call->node, &call->input_types[0], &call->input_types[1]);
  gint64          u = r.units, m = r.gates * u;
  const double   *bias = optional (call, GRADUS_RECURRENT_BIAS), *mask = optional (call, GRADUS_RECURRENT_MASK);
  const double   *drop = optional (call, GRADUS_RECURRENT_DROP), *h0 = optional (call, GRADUS_RECURRENT_STATE);
  const double   *c0 = optional (call, GRADUS_RECURRENT_CARRY);
  const double   *rb = bias != NULL && r.cell == GRADUS_CELL_GRU_AFTER ? bias + m : NULL;
  gboolean        lstm = r.cell == GRADUS_CELL_LSTM;
  g_autofree double *a = g_new (double, m), *h = g_new (double, u), *c = g_new (double, u);
  g_autofree double *hd = g_new (double, u);

  for (gint64 b = 0; b < r.batch; b++)
    {
      for (gint64 i = 0; i < u; i++)
        {
          h[i] = h0 ? h0[b * u + i] : 0;
          c[i] = c0 ? c0[b * u + i] : 0;
        }
      for (gint64 s = 0; s < r.time; s++)
        {
          gint64  t = b * r.time + gradus_recurrent_at (&r, s), out = (b * r.time + s) * u;
          double *kept = call->outputs[lstm ? 2 : 1] + t * r.kept * u;

          memset (kept, 0, r.kept * u * sizeof *kept);
          for (gint64 j = 0; j < m; j++)
            a[j] = bias ? bias[j] : 0;
          multiply (call->inputs[0] + t * r.features, call->inputs[1], r.features, m, 0, m, a);
          for (gint64 i = 0; i < u; i++)
            hd[i] = h[i] * (drop ? drop[b * u + i] : 1);
          if (mask == NULL || mask[t] != 0)
            take_step (&r, call->inputs[2], rb, a, hd, h, c, kept);
          memcpy (call->outputs[0] + out, h, u * sizeof *h);
          if (lstm)
            memcpy (call->outputs[1] + out, c, u * sizeof *c);
        }
    }
}

/* The backward step of one sample. @h, @c: the states before it, @c1 the carry after it; @dh, @dc: in,
 * the gradients of the states after it, out, of those before it. @dx: of x K + b, @dr: of h R + b'. */
static void
step_back (const GradusRecurrent *r, const double *R, const double *kept, const double *hd, const double *h, const double *c, const double *c1, const double *drop, double *dh, double *dc, double *dx, double *dr)
{
  gint64 u = r->units, m = r->gates * u;
  GradusCellActivation act = r->activation, rec = r->recurrent_activation;
  g_autofree double *dhd = g_new0 (double, u), *drh = g_new0 (double, u);

  for (gint64 i = 0; i < u; i++)
    if (r->cell == GRADUS_CELL_SIMPLE)
      {
        dx[i] = dh[i] * slope (act, kept[i]);
        dh[i] = 0;
      }
    else if (r->cell == GRADUS_CELL_LSTM)
      {
        double in = kept[i], f = kept[u + i], g = kept[2 * u + i], o = kept[3 * u + i];
        double ac = activate (act, c1[i]), d = dc[i] + dh[i] * o * slope (act, ac);

        dx[i] = d * g * slope (rec, in);
        dx[u + i] = d * c[i] * slope (rec, f);
        dx[2 * u + i] = d * in * slope (act, g);
        dx[3 * u + i] = dh[i] * ac * slope (rec, o);
        dc[i] = d * f;
        dh[i] = 0;
      }
    else
      {
        double z = kept[i], n = kept[2 * u + i];

        dx[i] = dh[i] * (h[i] - n) * slope (rec, z);
        dx[2 * u + i] = dh[i] * (1 - z) * slope (act, n);
        dh[i] *= z;
      }
  if (r->cell == GRADUS_CELL_GRU)
    multiply_back (dx, R, u, m, 2 * u, m, drh);
  for (gint64 i = 0; i < u && r->cell >= GRADUS_CELL_GRU; i++)
    {
      double reset = kept[u + i];

      if (r->cell == GRADUS_CELL_GRU)
        {
          dx[u + i] = drh[i] * hd[i] * slope (rec, reset);
          dhd[i] += drh[i] * reset;
        }
      else
        dx[u + i] = dx[2 * u + i] * kept[3 * u + i] * slope (rec, reset);
    }
  memcpy (dr, dx, m * sizeof *dr);
  for (gint64 i = 0; i < u && r->cell == GRADUS_CELL_GRU_AFTER; i++)
    dr[2 * u + i] *= kept[u + i];
  multiply_back (dr, R, u, m, 0, r->cell == GRADUS_CELL_GRU ? 2 * u : m, dhd);
  for (gint64 i = 0; i < u; i++)
    dh[i] += dhd[i] * (drop ? drop[i] : 1);
}

static void
add_outer (const double *x, const double *y, gint64 n, gint64 m, gint64 first, gint64 last, double *w)
{
  for (gint64 i = 0; i < n; i++)
    for (gint64 j = first; j < last; j++)
      w[i * m + j] += x[i] * y[j];
}

typedef struct
{
  const GradusReferenceCall *call;
  GradusRecurrent            r;
  double                    *out[GRADUS_RECURRENT_GRAD_N_OUTPUTS]; /* NULL: not wanted */
  double                    *dh, *dc, *dx, *dr, *hd;
} Backward;

static void
add_weights (Backward *self, gint64 t)
{
  const GradusRecurrent *r = &self->r;
  gint64        u = r->units, m = r->gates * u;
  const double *kept = self->call->inputs[GRADUS_RECURRENT_GRAD_KEPT] + t * r->kept * u;
  gboolean      before = r->cell == GRADUS_CELL_GRU;

  if (self->out[GRADUS_RECURRENT_GRAD_DX])
    multiply_back (self->dx, self->call->inputs[1], r->features, m, 0, m,
                   self->out[GRADUS_RECURRENT_GRAD_DX] + t * r->features);
  if (self->out[GRADUS_RECURRENT_GRAD_DKERNEL])
    add_outer (self->call->inputs[0] + t * r->features, self->dx, r->features, m, 0, m,
               self->out[GRADUS_RECURRENT_GRAD_DKERNEL]);
  if (self->out[GRADUS_RECURRENT_GRAD_DRECURRENT])
    {
      add_outer (self->hd, self->dr, u, m, 0, before ? 2 * u : m,
                 self->out[GRADUS_RECURRENT_GRAD_DRECURRENT]);
      if (before)
        add_outer (kept + 3 * u, self->dr, u, m, 2 * u, m, self->out[GRADUS_RECURRENT_GRAD_DRECURRENT]);
    }
  for (gint64 j = 0; j < m && self->out[GRADUS_RECURRENT_GRAD_DBIAS]; j++)
    {
      self->out[GRADUS_RECURRENT_GRAD_DBIAS][j] += self->dx[j];
      if (r->cell == GRADUS_CELL_GRU_AFTER)
        self->out[GRADUS_RECURRENT_GRAD_DBIAS][m + j] += self->dr[j];
    }
}

/* Value of a state before step @s of sample @b. */
static double
before (const double *states, const double *first, const GradusRecurrent *r, gint64 b, gint64 s, gint64 i)
{
  if (s > 0)
    return states[(b * r->time + s - 1) * r->units + i];
  return first ? first[b * r->units + i] : 0;
}

static void
sample_back (Backward *self, gint64 b)
{
  const GradusReferenceCall *call = self->call;
  const GradusRecurrent     *r = &self->r;
  const double *y = call->inputs[GRADUS_RECURRENT_GRAD_Y], *c = optional (call, GRADUS_RECURRENT_GRAD_C);
  const double *dy = optional (call, GRADUS_RECURRENT_GRAD_DY), *dcs = optional (call, GRADUS_RECURRENT_GRAD_DC);
  const double *mask = optional (call, GRADUS_RECURRENT_GRAD_MASK);
  const double *drop = optional (call, GRADUS_RECURRENT_GRAD_DROP);
  gint64        u = r->units;
  g_autofree double *h = g_new (double, u), *c0 = g_new (double, u);

  memset (self->dh, 0, u * sizeof *self->dh);
  memset (self->dc, 0, u * sizeof *self->dc);
  for (gint64 s = r->time; s-- > 0;)
    {
      gint64 t = b * r->time + gradus_recurrent_at (r, s), at = (b * r->time + s) * u;

      for (gint64 i = 0; i < u; i++)
        {
          self->dh[i] += dy ? dy[at + i] : 0;
          self->dc[i] += dcs ? dcs[at + i] : 0;
          h[i] = before (y, optional (call, GRADUS_RECURRENT_GRAD_STATE), r, b, s, i);
          c0[i] = c ? before (c, optional (call, GRADUS_RECURRENT_GRAD_CARRY), r, b, s, i) : 0;
          self->hd[i] = h[i] * (drop ? drop[b * u + i] : 1);
        }
      if (mask != NULL && mask[t] == 0)
        continue;
      step_back (r, call->inputs[2], call->inputs[GRADUS_RECURRENT_GRAD_KEPT] + t * r->kept * u, self->hd, h,
                 c0, c ? c + at : NULL, drop ? drop + b * u : NULL, self->dh, self->dc, self->dx, self->dr);
      add_weights (self, t);
    }
  if (self->out[GRADUS_RECURRENT_GRAD_DSTATE])
    memcpy (self->out[GRADUS_RECURRENT_GRAD_DSTATE] + b * u, self->dh, u * sizeof *self->dh);
  if (self->out[GRADUS_RECURRENT_GRAD_DCARRY])
    memcpy (self->out[GRADUS_RECURRENT_GRAD_DCARRY] + b * u, self->dc, u * sizeof *self->dc);
}

void
gradus_recurrent_grad_reference (const GradusReferenceCall *call)
{
  Backward self = { .call = call };
  gint64   wanted = gradus_node_int (call->node, "wanted"), u, m;

  self.r = gradus_recurrent_read (call->node, &call->input_types[0], &call->input_types[1]);
  u = self.r.units;
  m = self.r.gates * u;
  for (guint i = 0; i < GRADUS_RECURRENT_GRAD_N_OUTPUTS; i++)
    {
      if ((wanted & (1 << i)) == 0)
        continue;
      self.out[i] = call->outputs[i];
      memset (call->outputs[i], 0, gradus_shape_count (&call->output_types[i].shape) * sizeof (double));
    }
  self.dh = g_new (double, u);
  self.dc = g_new (double, u);
  self.hd = g_new (double, u);
  self.dx = g_new (double, m);
  self.dr = g_new (double, m);
  for (gint64 b = 0; b < self.r.batch; b++)
    sample_back (&self, b);
  g_free (self.dh);
  g_free (self.dc);
  g_free (self.hd);
  g_free (self.dx);
  g_free (self.dr);
}
