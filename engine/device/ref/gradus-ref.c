/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/ref/gradus-ref.h"

#include <glib/gi18n-lib.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 64

typedef struct
{
  GradusDevice parent;
  gint64       current, peak;
} RefDevice;

struct _GradusKernel
{
  const GradusNode *node;
  guint             n_written; /* outputs, then updated inputs */
  GradusValueType  *input_types, *output_types;
  double          **inputs, **outputs;
  guint            *updated; /* the input that output n_outputs + i writes back to */
};

/* Everything is done at return, so a stream or an event holds nothing. */
struct _GradusStream
{
  char unused;
};
struct _GradusEvent
{
  char unused;
};

static void *
ref_allocate (GradusDevice *device, gsize bytes, GError **error)
{
  RefDevice *self = (RefDevice *) device;
  void      *memory = NULL;

  if (bytes > G_MAXINT64 - ALIGNMENT
      || posix_memalign (&memory, ALIGNMENT, MAX (bytes, ALIGNMENT)) != 0)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
                   _ ("There is no memory for %.0f MB; use a smaller batch."), bytes / 1e6);
      return NULL;
    }
  memset (memory, 0, MAX (bytes, ALIGNMENT));
  self->current += bytes;
  self->peak = MAX (self->peak, self->current);
  return memory;
}

static void
ref_deallocate (GradusDevice *device, void *memory, gsize bytes)
{
  RefDevice *self = (RefDevice *) device;

  if (memory == NULL)
    return;
  free (memory);
  self->current -= bytes;
}

static gboolean
ref_upload (GradusDevice *device,
            GradusStream *stream,
            void         *to,
            const void   *from_host,
            gsize         bytes,
            GError      **error)
{
  memcpy (to, from_host, bytes);
  return TRUE;
}

static gboolean
ref_download (GradusDevice *device,
              GradusStream *stream,
              void         *to_host,
              const void   *from,
              gsize         bytes,
              GError      **error)
{
  memcpy (to_host, from, bytes);
  return TRUE;
}

static void
ref_kernel_free (GradusDevice *device, GradusKernel *kernel)
{
  if (kernel == NULL)
    return;
  for (guint i = 0; i < kernel->node->n_inputs; i++)
    g_free (kernel->inputs[i]);
  for (guint i = 0; i < kernel->node->n_outputs; i++)
    g_free (kernel->outputs[i]);
  g_free (kernel->inputs);
  g_free (kernel->outputs);
  g_free (kernel->updated);
  g_free (kernel->input_types);
  g_free (kernel->output_types);
  g_free (kernel);
}

static gboolean
is_updated (const GradusNode *node, guint input)
{
  return input < 32 && (node->op->updates & (1u << input)) != 0;
}

/* The elements of a value as float64. */
static gboolean
make_buffer (const GradusValueType *type, double **buffer, GError **error)
{
  gint64 count = gradus_shape_count (&type->shape);

  if (count >= 0 && count <= G_MAXINT64 / (gint64) sizeof (double) - 1)
    *buffer = g_try_malloc_n (count + 1, sizeof (double));
  if (*buffer != NULL)
    return TRUE;
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
               _ ("There is no memory for a value of the reference device; use a smaller batch."));
  return FALSE;
}

static gboolean
ref_prepare (GradusDevice              *device,
             const GradusKernelRequest *request,
             GradusKernel             **result,
             gsize                     *scratch,
             GError                   **error)
{
  const GradusNode *node = request->node;
  GradusKernel     *kernel = g_new0 (GradusKernel, 1);
  gboolean          ok = TRUE;

  kernel->node = node;
  kernel->input_types = g_memdup2 (request->inputs, node->n_inputs * sizeof *request->inputs);
  kernel->output_types = g_memdup2 (request->outputs, node->n_outputs * sizeof *request->outputs);
  kernel->inputs = g_new0 (double *, node->n_inputs + 1);
  kernel->outputs = g_new0 (double *, node->n_outputs + node->n_inputs + 1);
  kernel->updated = g_new0 (guint, node->n_inputs + 1);
  for (guint i = 0; ok && i < node->n_inputs; i++)
    if (node->inputs[i] != GRADUS_NO_VALUE)
      ok = make_buffer (&request->inputs[i], &kernel->inputs[i], error);
  for (guint i = 0; ok && i < node->n_outputs; i++)
    ok = make_buffer (&request->outputs[i], &kernel->outputs[i], error);
  if (!ok)
    {
      ref_kernel_free (device, kernel);
      return FALSE;
    }
  kernel->n_written = node->n_outputs;
  for (guint i = 0; i < node->n_inputs; i++)
    if (is_updated (node, i))
      {
        kernel->updated[kernel->n_written - node->n_outputs] = i;
        kernel->outputs[kernel->n_written++] = kernel->inputs[i];
      }
  *scratch = 0;
  *result = kernel;
  return TRUE;
}

static gboolean
ref_run (GradusDevice           *device,
         GradusStream           *stream,
         GradusKernel           *kernel,
         const GradusKernelArgs *args,
         GError                **error)
{
  const GradusNode         *node = kernel->node;
  const GradusReferenceCall call = {
    .node = node,
    .input_types = kernel->input_types,
    .output_types = kernel->output_types,
    .inputs = (const double *const *) kernel->inputs,
    .outputs = kernel->outputs,
    .seed = args->seed,
    .step = args->step,
  };

  for (guint i = 0; i < node->n_inputs; i++)
    if (kernel->inputs[i] != NULL && (i >= 32 || (node->op->shape_only & (1u << i)) == 0))
      gradus_ref_widen (kernel->input_types[i].dtype, args->inputs[i],
                        gradus_shape_count (&kernel->input_types[i].shape), kernel->inputs[i]);
  node->op->reference (&call);
  for (guint i = 0; i < node->n_outputs; i++)
    gradus_ref_round (kernel->output_types[i].dtype, kernel->outputs[i],
                      gradus_shape_count (&kernel->output_types[i].shape), args->outputs[i]);
  for (guint i = node->n_outputs; i < kernel->n_written; i++)
    {
      guint input = kernel->updated[i - node->n_outputs];

      if (kernel->outputs[i] == NULL)
        continue;
      gradus_ref_round (kernel->input_types[input].dtype, kernel->outputs[i],
                        gradus_shape_count (&kernel->input_types[input].shape),
                        args->inputs[input]);
    }
  return TRUE;
}

static const char *
ref_kernel_provider (GradusKernel *kernel)
{
  return "reference";
}

static GradusStream *
ref_stream_new (GradusDevice *device, GError **error)
{
  return g_new0 (GradusStream, 1);
}

static void
ref_stream_free (GradusDevice *device, GradusStream *stream)
{
  g_free (stream);
}

static GradusEvent *
ref_event_new (GradusDevice *device, GError **error)
{
  return g_new0 (GradusEvent, 1);
}

static void
ref_event_free (GradusDevice *device, GradusEvent *event)
{
  g_free (event);
}

static gboolean
ref_event_done (GradusDevice *device, GradusEvent *event, GradusStream *stream, GError **error)
{
  return TRUE;
}

static gboolean
ref_synchronise (GradusDevice *device, GradusStream *stream, GError **error)
{
  return TRUE;
}

static GradusDeviceMemory
ref_memory (GradusDevice *device)
{
  RefDevice *self = (RefDevice *) device;

  return (GradusDeviceMemory) { .current = self->current, .peak = self->peak, .limit = 0 };
}

static void
ref_reset_peak (GradusDevice *device)
{
  RefDevice *self = (RefDevice *) device;

  self->peak = self->current;
}

static void
ref_set_threads (GradusDevice *device, guint threads)
{
}

static char *
ref_describe (GradusDevice *device)
{
  return g_strdup ("{\"name\":\"ref\",\"kernels\":\"reference\",\"threads\":1}");
}

static void
ref_free (GradusDevice *device)
{
  g_free (device);
}

static const GradusDeviceFuncs ref_funcs = {
  .name = "ref",
  .allocate = ref_allocate,
  .deallocate = ref_deallocate,
  .upload = ref_upload,
  .download = ref_download,
  .prepare = ref_prepare,
  .run = ref_run,
  .kernel_provider = ref_kernel_provider,
  .kernel_free = ref_kernel_free,
  .stream_new = ref_stream_new,
  .stream_free = ref_stream_free,
  .event_new = ref_event_new,
  .event_free = ref_event_free,
  .event_record = ref_event_done,
  .event_wait = ref_event_done,
  .synchronise = ref_synchronise,
  .memory = ref_memory,
  .reset_peak = ref_reset_peak,
  .set_threads = ref_set_threads,
  .describe = ref_describe,
  .free = ref_free,
};

GradusDevice *
gradus_ref_device_new (void)
{
  RefDevice *self = g_new0 (RefDevice, 1);

  self->parent.funcs = &ref_funcs;
  g_atomic_ref_count_init (&self->parent.refs);
  return &self->parent;
}
