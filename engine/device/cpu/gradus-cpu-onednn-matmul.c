/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu-onednn-private.h"

#include <glib/gi18n-lib.h>
#include <string.h>

struct _GradusOnednnMatmul
{
  dnnl_primitive_t primitive;
  gsize            scratch;
  gboolean         bias;
  guint            n_slots;
  GradusOnednnCall calls[];
};

typedef struct
{
  dnnl_memory_desc_t a, b, bias, c;
} Descs;

/* A matrix, or @items of them: oneDNN takes these as a third axis. */
static dnnl_status_t
init_desc (dnnl_memory_desc_t *desc, gint64 items, gint64 item, gint64 rows, gint64 columns, gint64 row, gint64 column)
{
  if (items == 1)
    return dnnl_memory_desc_init_by_strides (desc, 2, (dnnl_dims_t){ rows, columns }, dnnl_f32,
                                             (dnnl_dims_t){ row, column });
  return dnnl_memory_desc_init_by_strides (desc, 3, (dnnl_dims_t){ items, rows, columns }, dnnl_f32,
                                           (dnnl_dims_t){ item, row, column });
}

static gboolean
make_descs (const GradusMatmulShape *s, Descs *d, GError **error)
{
  dnnl_status_t status = init_desc (&d->a, s->items, s->a_item, s->m, s->k, s->a_row, s->a_column);

  if (status == dnnl_success)
    status = init_desc (&d->b, s->items, s->b_item, s->k, s->n, s->b_row, s->b_column);
  if (status == dnnl_success)
    status = init_desc (&d->c, s->items, s->c_item, s->m, s->n, s->c_row, 1);
  if (status == dnnl_success && s->bias)
    status = dnnl_memory_desc_init_by_strides (&d->bias, s->items == 1 ? 2 : 3,
                                               s->items == 1 ? (dnnl_dims_t){ 1, s->n } : (dnnl_dims_t){ 1, 1, s->n },
                                               dnnl_f32, (dnnl_dims_t){ s->n, s->items == 1 ? 1 : s->n, 1 });
  return gradus_onednn_check (status, N_ ("a matrix product"), error);
}

static gboolean
make_calls (GradusOnednnMatmul *self, dnnl_primitive_desc_t pd, const Descs *d, GError **error)
{
  const dnnl_memory_desc_t *scratch = dnnl_primitive_desc_query_md (pd, dnnl_query_scratchpad_md, 0);

  for (guint i = 0; i < self->n_slots; i++)
    {
      GradusOnednnCall *call = &self->calls[i];
      call->primitive = self->primitive;
      if (!gradus_onednn_call_add (call, DNNL_ARG_SRC, &d->a, error)
          || !gradus_onednn_call_add (call, DNNL_ARG_WEIGHTS, &d->b, error)
          || !gradus_onednn_call_add (call, DNNL_ARG_DST, &d->c, error)
          || !gradus_onednn_call_add (call, DNNL_ARG_SCRATCHPAD, scratch, error)
          || (self->bias && !gradus_onednn_call_add (call, DNNL_ARG_BIAS, &d->bias, error)))
        return FALSE;
    }
  return TRUE;
}

GradusOnednnMatmul *
gradus_onednn_matmul_new (const GradusMatmulShape *shape, guint n_slots, GError **error)
{
  GradusOnednnMatmul *self = g_malloc0 (sizeof *self + n_slots * sizeof (GradusOnednnCall));
  dnnl_primitive_attr_t attr = gradus_onednn_attr (shape->relu);
  dnnl_primitive_desc_t pd = NULL;
  dnnl_matmul_desc_t desc;
  gboolean done;
  Descs d;

  self->n_slots = n_slots;
  self->bias = shape->bias;
  done = make_descs (shape, &d, error)
         && gradus_onednn_check (dnnl_matmul_desc_init (&desc, &d.a, &d.b, shape->bias ? &d.bias : NULL, &d.c),
                                 N_ ("a matrix product"), error)
         && gradus_onednn_check (dnnl_primitive_desc_create (&pd, &desc, attr, gradus_onednn_engine (), NULL),
                                 N_ ("a matrix product"), error)
         && gradus_onednn_check (dnnl_primitive_create (&self->primitive, pd),
                                 N_ ("a matrix product"), error)
         && make_calls (self, pd, &d, error);
  if (pd != NULL)
    {
      self->scratch = gradus_onednn_scratch (pd);
      dnnl_primitive_desc_destroy (pd);
    }
  dnnl_primitive_attr_destroy (attr);
  if (done)
    return self;
  gradus_onednn_matmul_free (self);
  return NULL;
}

void
gradus_onednn_matmul_free (GradusOnednnMatmul *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < self->n_slots; i++)
    gradus_onednn_call_clear (&self->calls[i]);
  if (self->primitive != NULL)
    dnnl_primitive_destroy (self->primitive);
  g_free (self);
}

gsize
gradus_onednn_matmul_scratch (GradusOnednnMatmul *self)
{
  return self->scratch;
}

void
gradus_onednn_matmul_run (GradusOnednnMatmul *self, guint slot, const float *a, const float *b, const float *bias, float *c, void *scratch)
{
  GradusOnednnCall *call = &self->calls[slot];

  gradus_onednn_call_set (call, 0, a);
  gradus_onednn_call_set (call, 1, b);
  gradus_onednn_call_set (call, 2, c);
  gradus_onednn_call_set (call, 3, scratch);
  if (self->bias)
    gradus_onednn_call_set (call, 4, bias);
  gradus_onednn_call_run (call);
}
