/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>

#include "device/cpu/gradus-cpu-kernel.h"
#include "device/cpu/gradus-cpu-onednn-private.h"
#include "ops/gradus-op-activation.h"
#include "ops/gradus-op-window.h"

#include <string.h>

/*
 * The batch is cut into chunks whose number depends on the shapes alone; each chunk is one
 * single-threaded primitive. A single image that only goes forward is cut along its first axis, with
 * the rows at the seams read by both sides. Chunks of the same size and padding share a primitive.
 * Images are NHWC; for the kernel the library chooses its format, and the program's HWIO is
 * reordered once a run (a few microseconds). The library is quick with one filter a channel and slow
 * with several: there each channel of the images is repeated, for as many groups as there are filters. The gradient of the kernel is summed over the chunks in
 * order. (Batch chunks instead of the library's threads: oneDNN promises no equal bits for other
 * thread counts.)
 */
#define NANOSECONDS_PER_CHUNK 1e5
#define MAX_CHUNKS 16
#define NANOSECONDS_PER_KERNEL_CHUNK 5e5
#define MAX_KERNEL_CHUNKS 8
#define SUM_TILE 4096
/* One image is somebody waiting for an answer: smaller pieces. */
#define NANOSECONDS_PER_ROWS 5e4
#define MIN_ROWS 4

typedef enum
{
  CONV_FORWARD,
  CONV_GRAD_INPUT,
  CONV_GRAD_KERNEL,
} Direction;

/* What one call handles, and the primitive for it. */
typedef struct
{
  gint64       images;
  GradusWindow window;
  gint64       x_at, y_at; /* floats before it */
  guint        variant;
} Chunk;

typedef struct
{
  const Chunk          *chunk; /* one of those it is for */
  dnnl_primitive_desc_t pd;
  dnnl_primitive_t      primitive;
} Variant;

/* Channels and filters are those of a group. */
typedef struct
{
  GradusKernel base;
  Direction    direction;
  gint64       batch, channels, filters, groups;
  gint64       repeat; /* how often each channel of x stands in what the library sees */
  GradusWindow window;
  gboolean     bias, relu;

  Chunk            *chunks; /* one a tile */
  Variant          *variants;
  guint             n_variants;
  GradusOnednnCall *calls; /* one a chunk */

  dnnl_memory_desc_t kernel_md; /* as the library wants it */
  gboolean           reorders;
  dnnl_primitive_t   reorder_primitive;
  GradusOnednnCall   reorder;

  /* Bytes: one kernel in the library's format, one chunk's scratch and its repeated images; all
   * rounded up. */
  gsize kernel_bytes, chunk_scratch, image_bytes;
  guint n_kernels; /* how many of them lie at the start of the scratch */
} Conv;

static gsize
round_up (gsize bytes)
{
  return (bytes + 63) / 64 * 64;
}

/* One axis is two to the library, the first of size 1: it knows two best. */
static guint
first_axis (const Conv *k)
{
  return k->window.n_axes == 3 ? 0 : 1;
}

static gboolean
image_md (const Conv *k, dnnl_memory_desc_t *md, gint64 batch, gint64 channels, const gint64 *size)
{
  dnnl_dims_t dims = { batch, channels }, strides = { 0, 1 };
  gint64 stride = channels;
  int n = 2;

  for (guint axis = first_axis (k); axis < GRADUS_WINDOW_AXES; axis++)
    dims[n++] = size[axis];
  for (int i = n - 1; i >= 2; i--)
    {
      strides[i] = stride;
      stride *= dims[i];
    }
  strides[0] = stride;
  return dnnl_memory_desc_init_by_strides (md, n, dims, dnnl_f32, strides) == dnnl_success;
}

/* @plain: as the program has it, channels and filters last; or as the library likes it. */
static gboolean
kernel_md (const Conv *k, dnnl_memory_desc_t *md, gboolean plain)
{
  gint64 all_filters = k->groups * k->filters, stride = k->channels * all_filters;
  dnnl_dims_t dims = { k->groups, k->filters, k->channels };
  dnnl_dims_t strides = { k->filters, 1, all_filters };
  int n = 3, skip = k->groups == 1 ? 1 : 0;

  for (guint axis = first_axis (k); axis < GRADUS_WINDOW_AXES; axis++)
    dims[n++] = k->window.size[axis];
  for (int i = n - 1; i >= 3; i--)
    {
      strides[i] = stride;
      stride *= dims[i];
    }
  if (!plain)
    return dnnl_memory_desc_init_by_tag (md, n - skip, dims + skip, dnnl_f32, dnnl_format_tag_any) == dnnl_success;
  return dnnl_memory_desc_init_by_strides (md, n - skip, dims + skip, dnnl_f32, strides + skip) == dnnl_success;
}

typedef struct
{
  dnnl_memory_desc_t x, kernel, bias, y;
  dnnl_dims_t        strides, dilations, before, after;
} Descs;

static gboolean
make_descs (const Conv *k, const Chunk *chunk, const dnnl_memory_desc_t *kernel, Descs *d)
{
  const GradusWindow *w = &chunk->window;

  for (guint axis = first_axis (k); axis < GRADUS_WINDOW_AXES; axis++)
    {
      guint i = axis - first_axis (k);
      d->strides[i] = w->strides[axis];
      d->dilations[i] = w->dilations[axis] - 1;
      d->before[i] = w->before[axis];
      /* What no window reaches is not padding to oneDNN, but must be named to get the right size. */
      d->after[i] = (w->out[axis] - 1) * w->strides[axis] + (w->size[axis] - 1) * w->dilations[axis] + 1 - w->in[axis]
                    - w->before[axis];
    }
  if (kernel != NULL)
    d->kernel = *kernel;
  else if (!kernel_md (k, &d->kernel, FALSE))
    return FALSE;
  return image_md (k, &d->x, chunk->images, k->groups * k->channels, w->in)
         && image_md (k, &d->y, chunk->images, k->groups * k->filters, w->out)
         && dnnl_memory_desc_init_by_tag (&d->bias, 1, (dnnl_dims_t){ k->groups * k->filters }, dnnl_f32, dnnl_a)
                == dnnl_success;
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

  if (!kernel_md (k, &free_kernel.kernel, FALSE))
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
make_variant (Conv *k, Variant *v, const dnnl_memory_desc_t *kernel, GError **error)
{
  dnnl_status_t status;
  Descs d;

  if (!make_descs (k, v->chunk, kernel, &d))
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

static gboolean
make_others (Conv *k, const dnnl_memory_desc_t *kernel, GError **error)
{
  for (guint i = 1; i < k->n_variants; i++)
    if (!make_variant (k, &k->variants[i], kernel, error))
      return FALSE;
  return TRUE;
}

/* The first chunk in the format that the library likes best, the others in the same; the program's for
 * all where it cannot do that. */
static gboolean
make_variants (Conv *k, GError **error)
{
  dnnl_memory_desc_t plain;

  if (!make_variant (k, &k->variants[0], NULL, error))
    return FALSE;
  k->kernel_md = *variant_kernel_md (k, &k->variants[0]);
  if (make_others (k, &k->kernel_md, NULL))
    return TRUE;
  for (guint i = 0; i < k->n_variants; i++)
    variant_clear (&k->variants[i]);
  if (!kernel_md (k, &plain, TRUE) || !make_variant (k, &k->variants[0], &plain, error)
      || !make_others (k, &plain, error))
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

  if (!kernel_md (k, &plain, TRUE))
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
  const Variant *v = &k->variants[k->chunks[chunk].variant];
  gboolean done;
  Descs d;

  make_descs (k, &k->chunks[chunk], &k->kernel_md, &d);
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
  return gradus_window_count (k->window.in) * k->groups * k->channels;
}

static gint64
y_size (const Conv *k)
{
  return gradus_window_count (k->window.out) * k->groups * k->filters;
}

static char *
chunk_scratch (const Conv *k, const GradusKernelArgs *args, guint chunk)
{
  return (char *) args->scratch + k->n_kernels * k->kernel_bytes + chunk * k->chunk_scratch;
}

static float *
chunk_images (const Conv *k, const GradusKernelArgs *args, guint chunk)
{
  return (float *) (chunk_scratch (k, args, k->base.n_tiles) + chunk * k->image_bytes);
}

/* Places of a chunk, each with the channels of x as the program has them. */
static gint64
chunk_channels (const Conv *k, guint chunk)
{
  const Chunk *c = &k->chunks[chunk];

  return c->images * gradus_window_count (c->window.in) * k->groups / k->repeat;
}

/* The images of x for the library. */
static const float *
repeated (const Conv *k, const GradusKernelArgs *args, guint chunk, const float *x)
{
  gint64 n = chunk_channels (k, chunk);
  float *to = chunk_images (k, args, chunk);

  x += k->chunks[chunk].x_at / k->repeat;
  if (k->repeat == 1)
    return x;
  for (gint64 i = 0; i < n; i++)
    for (gint64 r = 0; r < k->repeat; r++)
      to[i * k->repeat + r] = x[i];
  return to;
}

/* What the repeated channels got, in one. */
static void
add_repeated (const Conv *k, const GradusKernelArgs *args, guint chunk, float *x)
{
  gint64 n = chunk_channels (k, chunk);
  const float *from = chunk_images (k, args, chunk);

  for (gint64 i = 0; i < n; i++)
    {
      float sum = from[i * k->repeat];

      for (gint64 r = 1; r < k->repeat; r++)
        sum += from[i * k->repeat + r];
      x[i] = sum;
    }
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
  gint64 x_at = k->chunks[tile].x_at / k->repeat, y_at = k->chunks[tile].y_at;
  gboolean forward = k->direction == CONV_FORWARD, gather = !forward && k->repeat > 1;
  const float *from = args->inputs[0];
  float *to = args->outputs[0];

  gradus_onednn_call_set (chunk, 0, forward ? repeated (k, args, tile, from) : from + y_at);
  gradus_onednn_call_set (chunk, 1, k->reorders ? args->scratch : args->inputs[1]);
  gradus_onednn_call_set (chunk, 2, forward ? to + y_at : gather ? chunk_images (k, args, tile) : to + x_at);
  gradus_onednn_call_set (chunk, 3, chunk_scratch (k, args, tile));
  if (k->bias)
    gradus_onednn_call_set (chunk, 4, args->inputs[2]);
  gradus_onednn_call_run (chunk);
  if (gather)
    add_repeated (k, args, tile, to + x_at);
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

  gradus_onednn_call_set (chunk, 0, repeated (k, args, tile, args->inputs[0]));
  gradus_onednn_call_set (chunk, 1, (const float *) args->inputs[1] + k->chunks[tile].y_at);
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
  for (guint i = 0; i < k->n_variants; i++)
    variant_clear (&k->variants[i]);
  g_free (k->variants);
  g_free (k->chunks);
}

static gboolean
read_conv (Conv *k, const GradusKernelRequest *request, GError **error)
{
  const GradusShape *x = k->direction == CONV_GRAD_INPUT ? &request->outputs[0].shape : &request->inputs[0].shape;
  const GradusShape *kernel = k->direction == CONV_GRAD_KERNEL ? &request->outputs[0].shape : &request->inputs[1].shape;
  const GradusNode *node = request->node;

  k->batch = x->dims[0];
  k->groups = gradus_node_int (node, "groups");
  k->channels = kernel->dims[kernel->rank - 2];
  k->filters = kernel->dims[kernel->rank - 1] / k->groups;
  k->repeat = 1;
  if (k->groups > 1 && k->channels == 1)
    {
      k->repeat = k->filters;
      k->groups *= k->filters;
      k->filters = 1;
    }
  if (k->direction == CONV_FORWARD)
    {
      k->bias = node->n_inputs > 2 && node->inputs[2] != GRADUS_NO_VALUE;
      k->relu = gradus_op_activation_is_relu (node);
    }
  return gradus_window_read (node, request->inputs, x, "dilations", NULL, &k->window, error)
         && gradus_window_fit (node, request->inputs, &k->window, x, kernel->dims, error);
}

/* On one core of today, by operations and by bytes: a first layer of few channels is all bytes. */
static double
estimate (const Conv *k)
{
  const GradusWindow *w = &k->window;
  double flops = 2.0 * (double) k->batch * (double) gradus_window_count (w->out) * (double) (k->channels * k->filters)
                 * (double) k->groups * (double) gradus_window_count (w->size);

  return 2000 + flops / 150 + (double) (k->batch * (x_size (k) + y_size (k))) * 0.4;
}

static void
cut_batch (Conv *k, double wanted)
{
  gint64 images = (k->batch + (gint64) wanted - 1) / (gint64) wanted;

  k->base.n_tiles = gradus_cpu_tiles (k->batch, images);
  k->chunks = g_new0 (Chunk, k->base.n_tiles);
  for (guint i = 0; i < k->base.n_tiles; i++)
    k->chunks[i] = (Chunk){
      .images = MIN (images, k->batch - i * images),
      .window = k->window,
      .x_at = i * images * x_size (k),
      .y_at = i * images * y_size (k),
    };
}

/* Outputs from @begin to @end along the first axis, with the inputs that they read. FALSE if these are
 * padding alone. */
static gboolean
cut_rows_at (const Conv *k, gint64 begin, gint64 end, Chunk *chunk)
{
  guint axis = GRADUS_WINDOW_AXES - k->window.n_axes;
  gint64 first = gradus_window_at (&k->window, axis, begin, 0);
  gint64 last = gradus_window_at (&k->window, axis, end - 1, k->window.size[axis] - 1);
  GradusWindow *w = &chunk->window;

  *chunk = (Chunk){ .images = 1, .window = k->window };
  w->before[axis] = MAX (0, -first);
  w->out[axis] = end - begin;
  w->in[axis] = MIN (last + 1, k->window.in[axis]) - MAX (first, 0);
  chunk->x_at = MAX (first, 0) * (x_size (k) / k->window.in[axis]);
  chunk->y_at = begin * (y_size (k) / k->window.out[axis]);
  /* What is left over behind the last window belongs to no chunk. */
  w->after[axis] = MAX (0, last + 1 - k->window.in[axis]);
  return w->in[axis] > 0;
}

static void
cut_rows (Conv *k, double wanted)
{
  gint64 all = k->window.out[GRADUS_WINDOW_AXES - k->window.n_axes];
  gint64 rows = MAX (MIN_ROWS, (all + (gint64) wanted - 1) / (gint64) wanted);
  gboolean cut = TRUE;

  k->base.n_tiles = gradus_cpu_tiles (all, rows);
  k->chunks = g_new0 (Chunk, k->base.n_tiles);
  for (guint i = 0; i < k->base.n_tiles; i++)
    cut &= cut_rows_at (k, i * rows, MIN (all, (i + 1) * rows), &k->chunks[i]);
  if (cut)
    return;
  g_free (k->chunks);
  cut_batch (k, 1);
}

static void
share_variants (Conv *k)
{
  k->variants = g_new0 (Variant, k->base.n_tiles);
  for (guint i = 0; i < k->base.n_tiles; i++)
    {
      Chunk *chunk = &k->chunks[i];
      guint v = 0;

      while (v < k->n_variants
             && (k->variants[v].chunk->images != chunk->images
                 || memcmp (&k->variants[v].chunk->window, &chunk->window, sizeof chunk->window) != 0))
        v++;
      if (v == k->n_variants)
        k->variants[k->n_variants++].chunk = chunk;
      chunk->variant = v;
    }
}

static void
cut (Conv *k)
{
  double wanted;

  k->base.nanoseconds = estimate (k);
  if (k->direction == CONV_GRAD_KERNEL)
    wanted = CLAMP (k->base.nanoseconds / NANOSECONDS_PER_KERNEL_CHUNK, 1, MAX_KERNEL_CHUNKS);
  else
    wanted = CLAMP (k->base.nanoseconds / NANOSECONDS_PER_CHUNK, 1, MAX_CHUNKS);
  if (k->batch == 1 && k->direction == CONV_FORWARD)
    cut_rows (k, CLAMP (k->base.nanoseconds / NANOSECONDS_PER_ROWS, 1, MAX_CHUNKS));
  else
    cut_batch (k, wanted);
  share_variants (k);
}

/* "onednn" and what of it does the work. */
static const char *
name_provider (const Conv *k)
{
  g_autofree char *name = NULL;
  const char *implementation = NULL;

  if (dnnl_primitive_desc_query (k->variants[0].pd, dnnl_query_impl_info_str, 0, &implementation) != dnnl_success)
    return "onednn";
  name = g_strdup_printf ("onednn %s", implementation);
  return g_intern_string (name);
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
  if (k->repeat > 1)
    k->image_bytes = round_up ((gsize) (k->chunks[0].images * x_size (k)) * sizeof (float));
  k->base.scratch = k->n_kernels * k->kernel_bytes + k->base.n_tiles * (k->chunk_scratch + k->image_bytes);
  k->base.run = k->direction == CONV_GRAD_KERNEL ? grad_kernel_run : conv_run;
  k->base.provider = name_provider (k);
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
  { "conv", prepare_conv, &(const ConvParam){ CONV_FORWARD } },
  { "conv_grad_input", prepare_conv, &(const ConvParam){ CONV_GRAD_INPUT } },
  { "conv_grad_kernel", prepare_conv, &(const ConvParam){ CONV_GRAD_KERNEL } },
  { "conv_transpose", prepare_conv, &(const ConvParam){ CONV_GRAD_INPUT } },
  { NULL, NULL, NULL },
};
