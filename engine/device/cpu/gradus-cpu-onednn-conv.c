/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>

#include "device/cpu/gradus-cpu-kernel.h"
#include "device/cpu/gradus-cpu-onednn-private.h"
#include "ops/gradus-op-activation.h"
#include "ops/gradus-op-window.h"

/*
 * The batch is cut into chunks whose number depends on the shapes alone; each chunk is one
 * single-threaded primitive. The last chunk may be shorter and then has a primitive of its own.
 * Images are NHWC; for the kernel the library chooses its format, and the program's HWIO is
 * reordered once a run (a few microseconds). The gradient of the kernel is summed over the chunks in
 * order. (Batch chunks instead of the library's threads: oneDNN promises no equal bits for other
 * thread counts.)
 */
#define NANOSECONDS_PER_CHUNK 1e5
#define MAX_CHUNKS 16
#define NANOSECONDS_PER_KERNEL_CHUNK 5e5
#define MAX_KERNEL_CHUNKS 8
#define SUM_TILE 4096

typedef enum
{
  CONV_FORWARD,
  CONV_GRAD_INPUT,
  CONV_GRAD_KERNEL,
} Direction;

/* A primitive for chunks of one length. */
typedef struct
{
  dnnl_primitive_desc_t pd;
  dnnl_primitive_t      primitive;
} Variant;

typedef struct
{
  GradusKernel base;
  Direction    direction;
  gint64       batch, channels, filters;
  GradusWindow window;
  gboolean     bias, relu;

  gint64  chunk; /* images */
  Variant whole, last;
  GradusOnednnCall *calls; /* a chunk each */

  dnnl_memory_desc_t kernel_md; /* as the library wants it */
  gboolean           reorders;
  dnnl_primitive_t   reorder_primitive;
  GradusOnednnCall   reorder;

  /* Bytes: one kernel in the library's format, one chunk's scratch; both rounded up. */
  gsize kernel_bytes, chunk_scratch;
  guint n_kernels; /* how many of them lie at the start of the scratch */
} Conv;

static gsize
round_up (gsize bytes)
{
  return (bytes + 63) / 64 * 64;
}

static gboolean
image_md (dnnl_memory_desc_t *md, gint64 batch, gint64 channels, const gint64 size[2])
{
  return dnnl_memory_desc_init_by_tag (md, 4, (dnnl_dims_t){ batch, channels, size[0], size[1] }, dnnl_f32,
                                       dnnl_nhwc)
         == dnnl_success;
}

static gboolean
kernel_md (const Conv *k, dnnl_memory_desc_t *md, dnnl_format_tag_t tag)
{
  return dnnl_memory_desc_init_by_tag (md, 4,
                                       (dnnl_dims_t){ k->filters, k->channels, k->window.size[0], k->window.size[1] },
                                       dnnl_f32, tag)
         == dnnl_success;
}

typedef struct
{
  dnnl_memory_desc_t x, kernel, bias, y;
  dnnl_dims_t        strides, dilations, before, after;
} Descs;

static gboolean
make_descs (const Conv *k, gint64 images, const dnnl_memory_desc_t *kernel, Descs *d)
{
  const GradusWindow *w = &k->window;

  for (guint i = 0; i < 2; i++)
    {
      d->strides[i] = w->strides[i];
      d->dilations[i] = w->dilations[i] - 1;
      d->before[i] = w->before[i];
      /* What no window reaches is not padding to oneDNN, but must be named to get the right size. */
      d->after[i] = (w->out[i] - 1) * w->strides[i] + (w->size[i] - 1) * w->dilations[i] + 1 - w->in[i] - w->before[i];
    }
  if (kernel != NULL)
    d->kernel = *kernel;
  else if (!kernel_md (k, &d->kernel, dnnl_format_tag_any))
    return FALSE;
  return image_md (&d->x, images, k->channels, w->in) && image_md (&d->y, images, k->filters, w->out)
         && dnnl_memory_desc_init_by_tag (&d->bias, 1, (dnnl_dims_t){ k->filters }, dnnl_f32, dnnl_a) == dnnl_success;
}

static dnnl_status_t
forward_pd (const Conv *k, const Descs *d, gboolean hint, dnnl_primitive_desc_t *pd)
{
  dnnl_primitive_attr_t attr = gradus_onednn_attr (!hint && k->relu);
  dnnl_convolution_desc_t desc;
  dnnl_status_t status;

  status = dnnl_dilated_convolution_forward_desc_init (&desc, dnnl_forward_training, dnnl_convolution_direct, &d->x,
                                                       &d->kernel, !hint && k->bias ? &d->bias : NULL, &d->y,
                                                       d->strides, d->dilations, d->before, d->after);
  if (status == dnnl_success)
    status = dnnl_primitive_desc_create (pd, &desc, attr, gradus_onednn_engine (), NULL);
  dnnl_primitive_attr_destroy (attr);
  return status;
}

static dnnl_status_t
backward_pd (const Conv *k, const Descs *d, dnnl_primitive_desc_t *pd)
{
  dnnl_primitive_attr_t attr = gradus_onednn_attr (FALSE);
  dnnl_primitive_desc_t hint = NULL;
  dnnl_convolution_desc_t desc;
  Descs free_kernel = *d;
  dnnl_status_t status = dnnl_success;

  if (!kernel_md (k, &free_kernel.kernel, dnnl_format_tag_any))
    status = dnnl_invalid_arguments;
  if (status == dnnl_success)
    status = forward_pd (k, &free_kernel, TRUE, &hint);
  if (status == dnnl_success && k->direction == CONV_GRAD_INPUT)
    status = dnnl_dilated_convolution_backward_data_desc_init (&desc, dnnl_convolution_direct, &d->x, &d->kernel, &d->y,
                                                               d->strides, d->dilations, d->before, d->after);
  else if (status == dnnl_success)
    status = dnnl_dilated_convolution_backward_weights_desc_init (&desc, dnnl_convolution_direct, &d->x, &d->kernel,
                                                                  NULL, &d->y, d->strides, d->dilations, d->before,
                                                                  d->after);
  if (status == dnnl_success)
    status = dnnl_primitive_desc_create (pd, &desc, attr, gradus_onednn_engine (), hint);
  if (hint != NULL)
    dnnl_primitive_desc_destroy (hint);
  dnnl_primitive_attr_destroy (attr);
  return status;
}

static void
variant_clear (Variant *v)
{
  if (v->primitive != NULL)
    dnnl_primitive_destroy (v->primitive);
  if (v->pd != NULL)
    dnnl_primitive_desc_destroy (v->pd);
  v->primitive = NULL;
  v->pd = NULL;
}

/* @kernel: the format of the kernel; NULL for the library's choice. */
static gboolean
make_variant (Conv *k, Variant *v, gint64 images, const dnnl_memory_desc_t *kernel, GError **error)
{
  dnnl_status_t status;
  Descs d;

  if (!make_descs (k, images, kernel, &d))
    return gradus_onednn_check (dnnl_invalid_arguments, N_ ("a convolution"), error);
  status = k->direction == CONV_FORWARD ? forward_pd (k, &d, FALSE, &v->pd) : backward_pd (k, &d, &v->pd);
  if (status == dnnl_success)
    status = dnnl_primitive_create (&v->primitive, v->pd);
  if (status != dnnl_success)
    variant_clear (v);
  return gradus_onednn_check (status, N_ ("a convolution"), error);
}

static const dnnl_memory_desc_t *
variant_kernel_md (const Conv *k, const Variant *v)
{
  return dnnl_primitive_desc_query_md (
      v->pd, k->direction == CONV_GRAD_KERNEL ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0);
}

/* The whole chunks in the format that the library likes best, the last one in the same; HWIO for both
 * where it cannot do that. */
static gboolean
make_variants (Conv *k, GError **error)
{
  gint64 rest = k->batch % k->chunk;
  dnnl_memory_desc_t plain;

  if (!make_variant (k, &k->whole, k->chunk, NULL, error))
    return FALSE;
  k->kernel_md = *variant_kernel_md (k, &k->whole);
  if (rest == 0 || make_variant (k, &k->last, rest, &k->kernel_md, NULL))
    return TRUE;
  variant_clear (&k->whole);
  if (!kernel_md (k, &plain, dnnl_hwio) || !make_variant (k, &k->whole, k->chunk, &plain, error)
      || !make_variant (k, &k->last, rest, &plain, error))
    return FALSE;
  k->kernel_md = plain;
  return TRUE;
}

static gboolean
make_reorder (Conv *k, GError **error)
{
  gboolean to_program = k->direction == CONV_GRAD_KERNEL;
  dnnl_primitive_attr_t attr;
  dnnl_primitive_desc_t pd = NULL;
  dnnl_memory_desc_t plain;
  const dnnl_memory_desc_t *from, *to;
  gboolean done;

  if (!kernel_md (k, &plain, dnnl_hwio))
    return gradus_onednn_check (dnnl_invalid_arguments, N_ ("a convolution's kernel"), error);
  if (dnnl_memory_desc_equal (&plain, &k->kernel_md))
    return TRUE;
  k->reorders = TRUE;
  from = to_program ? &k->kernel_md : &plain;
  to = to_program ? &plain : &k->kernel_md;
  attr = gradus_onednn_attr (FALSE);
  done = gradus_onednn_check (dnnl_reorder_primitive_desc_create (&pd, from, gradus_onednn_engine (), to,
                                                                  gradus_onednn_engine (), attr),
                              N_ ("a convolution's kernel"), error)
         && gradus_onednn_check (dnnl_primitive_create (&k->reorder_primitive, pd),
                                 N_ ("a convolution's kernel"), error)
         && gradus_onednn_call_add (&k->reorder, DNNL_ARG_FROM, from, error)
         && gradus_onednn_call_add (&k->reorder, DNNL_ARG_TO, to, error)
         && gradus_onednn_call_add (&k->reorder, DNNL_ARG_SCRATCHPAD,
                                    dnnl_primitive_desc_query_md (pd, dnnl_query_scratchpad_md, 0), error);
  k->reorder.primitive = k->reorder_primitive;
  if (pd != NULL)
    {
      k->chunk_scratch = MAX (k->chunk_scratch, gradus_onednn_scratch (pd));
      dnnl_primitive_desc_destroy (pd);
    }
  dnnl_primitive_attr_destroy (attr);
  return done;
}

/* Arguments of a chunk, in this order: images read, kernel or images read, written, scratch, bias. */
static gboolean
make_call (Conv *k, guint chunk, GError **error)
{
  GradusOnednnCall *call = &k->calls[chunk];
  gint64 images = MIN (k->chunk, k->batch - chunk * k->chunk);
  const Variant *v = images == k->chunk ? &k->whole : &k->last;
  gboolean done;
  Descs d;

  make_descs (k, images, &k->kernel_md, &d);
  call->primitive = v->primitive;
  if (k->direction == CONV_FORWARD)
    done = gradus_onednn_call_add (call, DNNL_ARG_SRC, &d.x, error)
           && gradus_onednn_call_add (call, DNNL_ARG_WEIGHTS, &d.kernel, error)
           && gradus_onednn_call_add (call, DNNL_ARG_DST, &d.y, error);
  else if (k->direction == CONV_GRAD_INPUT)
    done = gradus_onednn_call_add (call, DNNL_ARG_DIFF_DST, &d.y, error)
           && gradus_onednn_call_add (call, DNNL_ARG_WEIGHTS, &d.kernel, error)
           && gradus_onednn_call_add (call, DNNL_ARG_DIFF_SRC, &d.x, error);
  else
    done = gradus_onednn_call_add (call, DNNL_ARG_SRC, &d.x, error)
           && gradus_onednn_call_add (call, DNNL_ARG_DIFF_DST, &d.y, error)
           && gradus_onednn_call_add (call, DNNL_ARG_DIFF_WEIGHTS, &d.kernel, error);
  k->chunk_scratch = MAX (k->chunk_scratch, gradus_onednn_scratch (v->pd));
  return done
         && gradus_onednn_call_add (call, DNNL_ARG_SCRATCHPAD,
                                    dnnl_primitive_desc_query_md (v->pd, dnnl_query_scratchpad_md, 0), error)
         && (!k->bias || gradus_onednn_call_add (call, DNNL_ARG_BIAS, &d.bias, error));
}

/* Floats of one image of x and of y. */
static gint64
x_size (const Conv *k)
{
  return k->window.in[0] * k->window.in[1] * k->channels;
}

static gint64
y_size (const Conv *k)
{
  return k->window.out[0] * k->window.out[1] * k->filters;
}

static char *
chunk_scratch (const Conv *k, const GradusKernelArgs *args, guint chunk)
{
  return (char *) args->scratch + k->n_kernels * k->kernel_bytes + chunk * k->chunk_scratch;
}

static void
run_reorder (const GradusCpuCall *call, const void *from, void *to)
{
  Conv *k = (Conv *) call->kernel;

  gradus_onednn_call_set (&k->reorder, 0, from);
  gradus_onednn_call_set (&k->reorder, 1, to);
  gradus_onednn_call_set (&k->reorder, 2, chunk_scratch (k, call->args, 0));
  gradus_onednn_call_run (&k->reorder);
}

static void
conv_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Conv *k = (const Conv *) call->kernel;
  const GradusKernelArgs *args = call->args;
  GradusOnednnCall *chunk = &k->calls[tile];
  gint64 first = tile * k->chunk;
  gboolean forward = k->direction == CONV_FORWARD;
  const float *from = args->inputs[0];
  float *to = args->outputs[0];

  gradus_onednn_call_set (chunk, 0, from + first * (forward ? x_size (k) : y_size (k)));
  gradus_onednn_call_set (chunk, 1, k->reorders ? args->scratch : args->inputs[1]);
  gradus_onednn_call_set (chunk, 2, to + first * (forward ? y_size (k) : x_size (k)));
  gradus_onednn_call_set (chunk, 3, chunk_scratch (k, args, tile));
  if (k->bias)
    gradus_onednn_call_set (chunk, 4, args->inputs[2]);
  gradus_onednn_call_run (chunk);
}

static void
conv_run (const GradusCpuCall *call)
{
  const Conv *k = (const Conv *) call->kernel;

  if (k->reorders)
    run_reorder (call, call->args->inputs[1], call->args->scratch);
  gradus_cpu_for (call, conv_tile, (gpointer) call, k->base.n_tiles, k->base.nanoseconds);
}

static void
grad_kernel_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Conv *k = (const Conv *) call->kernel;
  const GradusKernelArgs *args = call->args;
  GradusOnednnCall *chunk = &k->calls[tile];
  gint64 first = tile * k->chunk;

  gradus_onednn_call_set (chunk, 0, (const float *) args->inputs[0] + first * x_size (k));
  gradus_onednn_call_set (chunk, 1, (const float *) args->inputs[1] + first * y_size (k));
  gradus_onednn_call_set (chunk, 2, k->n_kernels == 0 ? args->outputs[0] : (char *) args->scratch + tile * k->kernel_bytes);
  gradus_onednn_call_set (chunk, 3, chunk_scratch (k, args, tile));
  gradus_onednn_call_run (chunk);
}

/* Adds the chunks' kernels in order, into the first or straight into the output. */
static void
sum_tile (gpointer data, guint tile)
{
  const GradusCpuCall *call = data;
  const Conv *k = (const Conv *) call->kernel;
  gint64 n = (gint64) (dnnl_memory_desc_get_size (&k->kernel_md) / sizeof (float));
  gint64 begin = (gint64) tile * SUM_TILE, end = MIN (begin + SUM_TILE, n);
  const float *first = call->args->scratch;
  float *sum = k->reorders ? call->args->scratch : call->args->outputs[0];

  for (guint chunk = 1; chunk < k->base.n_tiles; chunk++)
    {
      const float *from = (const float *) ((char *) call->args->scratch + chunk * k->kernel_bytes);
      const float *to = chunk == 1 ? first : sum;
      _Pragma ("GCC ivdep") for (gint64 i = begin; i < end; i++)
        sum[i] = to[i] + from[i];
    }
}

static void
grad_kernel_run (const GradusCpuCall *call)
{
  const Conv *k = (const Conv *) call->kernel;
  gint64 n = (gint64) (k->kernel_bytes / sizeof (float));

  gradus_cpu_for (call, grad_kernel_tile, (gpointer) call, k->base.n_tiles, k->base.nanoseconds);
  if (k->base.n_tiles > 1)
    gradus_cpu_for (call, sum_tile, (gpointer) call, gradus_cpu_tiles (n, SUM_TILE), 0.3 * (double) (n * k->base.n_tiles));
  if (k->reorders)
    run_reorder (call, call->args->scratch, call->args->outputs[0]);
}

static void
conv_free (GradusKernel *kernel)
{
  Conv *k = (Conv *) kernel;

  for (guint i = 0; k->calls != NULL && i < k->base.n_tiles; i++)
    gradus_onednn_call_clear (&k->calls[i]);
  g_free (k->calls);
  gradus_onednn_call_clear (&k->reorder);
  if (k->reorder_primitive != NULL)
    dnnl_primitive_destroy (k->reorder_primitive);
  variant_clear (&k->whole);
  variant_clear (&k->last);
}

static gboolean
read_conv (Conv *k, const GradusKernelRequest *request, GError **error)
{
  const GradusShape *x = &request->inputs[k->direction == CONV_GRAD_INPUT ? 2 : 0].shape;
  const GradusShape *kernel = k->direction == CONV_GRAD_KERNEL ? &request->outputs[0].shape : &request->inputs[1].shape;
  const GradusNode *node = request->node;

  k->batch = x->dims[0];
  k->channels = kernel->dims[2];
  k->filters = kernel->dims[3];
  if (k->direction == CONV_FORWARD)
    {
      k->bias = node->n_inputs > 2 && node->inputs[2] != GRADUS_NO_VALUE;
      k->relu = gradus_op_activation_is_relu (node);
    }
  return gradus_window_read (node, request->inputs, "dilations", &k->window, error)
         && gradus_window_fit (node, request->inputs, &k->window, x->dims, kernel->dims, error);
}

/* On one core of today, by operations and by bytes: a first layer of few channels is all bytes. */
static double
estimate (const Conv *k)
{
  const GradusWindow *w = &k->window;
  double flops = 2.0 * (double) (k->batch * w->out[0] * w->out[1]) * (double) (k->channels * k->filters)
                 * (double) (w->size[0] * w->size[1]);

  return 2000 + flops / 150 + (double) (k->batch * (x_size (k) + y_size (k))) * 0.4;
}

static void
cut (Conv *k)
{
  double chunks;

  k->base.nanoseconds = estimate (k);
  if (k->direction == CONV_GRAD_KERNEL)
    chunks = CLAMP (k->base.nanoseconds / NANOSECONDS_PER_KERNEL_CHUNK, 1, MAX_KERNEL_CHUNKS);
  else
    chunks = CLAMP (k->base.nanoseconds / NANOSECONDS_PER_CHUNK, 1, MAX_CHUNKS);
  k->chunk = (k->batch + (gint64) chunks - 1) / (gint64) chunks;
  k->base.n_tiles = gradus_cpu_tiles (k->batch, k->chunk);
}

static gboolean
build (Conv *k, const GradusKernelRequest *request, GError **error)
{
  if (!read_conv (k, request, error))
    return FALSE;
  cut (k);
  if (!make_variants (k, error) || !make_reorder (k, error))
    return FALSE;
  k->calls = g_new0 (GradusOnednnCall, k->base.n_tiles);
  for (guint i = 0; i < k->base.n_tiles; i++)
    if (!make_call (k, i, error))
      return FALSE;
  k->kernel_bytes = round_up (dnnl_memory_desc_get_size (&k->kernel_md));
  if (k->direction == CONV_GRAD_KERNEL)
    k->n_kernels = k->reorders || k->base.n_tiles > 1 ? k->base.n_tiles : 0;
  else
    k->n_kernels = k->reorders ? 1 : 0;
  k->chunk_scratch = round_up (k->chunk_scratch);
  k->base.scratch = k->n_kernels * k->kernel_bytes + k->base.n_tiles * k->chunk_scratch;
  k->base.run = k->direction == CONV_GRAD_KERNEL ? grad_kernel_run : conv_run;
  return TRUE;
}

typedef struct
{
  Direction direction;
} ConvParam;

static GradusKernel *
prepare_conv (const GradusKernelRequest *request, gconstpointer data, GError **error)
{
  const ConvParam *param = data;
  Conv *k;

  if (request->inputs[0].dtype != GRADUS_DTYPE_FLOAT32)
    return gradus_cpu_unsupported (request, error);
  k = gradus_cpu_kernel_create (Conv, "onednn");
  k->direction = param->direction;
  k->base.finalize = conv_free;
  if (build (k, request, error))
    return &k->base;
  conv_free (&k->base);
  g_free (k);
  return NULL;
}

const GradusCpuRow gradus_cpu_onednn_conv_rows[] = {
  { "conv2d", prepare_conv, &(const ConvParam){ CONV_FORWARD } },
  { "conv2d_grad_input", prepare_conv, &(const ConvParam){ CONV_GRAD_INPUT } },
  { "conv2d_grad_kernel", prepare_conv, &(const ConvParam){ CONV_GRAD_KERNEL } },
  { NULL, NULL, NULL },
};
