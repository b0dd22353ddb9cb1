/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cpu/gradus-cpu.h"

#include "device/cpu/gradus-cpu-kernel.h"
#include "device/cpu/gradus-cpu-onednn.h"
#include "device/cpu/gradus-cpu-openblas.h"

#include <glib/gi18n-lib.h>
#include <json-glib/json-glib.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ALIGNMENT 64
#define GRAIN_NANOSECONDS 50000

typedef struct
{
  GradusDevice       parent;
  GradusPool        *pool;
  double             grain;
  GradusCpuIsa       isa;
  GHashTable        *rows; /* op name -> const GradusCpuRow * */
  GradusDeviceMemory memory;
} GradusCpuDevice;

static GradusCpuDevice *
cpu (GradusDevice *device)
{
  return (GradusCpuDevice *) device;
}

/* One queue is as good as another where everything is done at return. */
struct _GradusStream
{
  char unused;
};
struct _GradusEvent
{
  char unused;
};

static void *
cpu_allocate (GradusDevice *self, gsize bytes, GError **error)
{
  GradusDeviceMemory *memory = &cpu (self)->memory;
  void *block = NULL;

  if (bytes > G_MAXSSIZE - ALIGNMENT || posix_memalign (&block, ALIGNMENT, MAX (bytes, 1)) != 0)
    {
      g_autofree char *size = g_format_size_full (bytes, G_FORMAT_SIZE_IEC_UNITS);
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
                   _ ("%s of memory could not be had. Close other programs or choose a smaller "
                      "batch."),
                   size);
      return NULL;
    }
  /* Touches every page now, so that no step ever pays for it. */
  memset (block, 0, bytes);
  memory->current += (gint64) bytes;
  memory->peak = MAX (memory->peak, memory->current);
  return block;
}

static void
cpu_deallocate (GradusDevice *self, void *memory, gsize bytes)
{
  if (memory == NULL)
    return;
  cpu (self)->memory.current -= (gint64) bytes;
  free (memory);
}

static gboolean
cpu_copy (GradusDevice *self, GradusStream *stream, void *to, const void *from, gsize bytes, GError **error)
{
  memcpy (to, from, bytes);
  return TRUE;
}

static gboolean
cpu_prepare (GradusDevice *self,
             const GradusKernelRequest *request,
             GradusKernel **kernel,
             gsize *scratch,
             GError **error)
{
  const GradusCpuRow *row = g_hash_table_lookup (cpu (self)->rows, request->node->op->name);

  if (row == NULL)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_UNSUPPORTED,
                   _ ("The operation “%s” has no kernel for the processor."),
                   request->node->op->name);
      return FALSE;
    }
  /* The libraries look at the thread count when they choose an algorithm. */
  gradus_pool_adopt_thread ();
  *kernel = row->prepare (request, row->param, error);
  if (*kernel == NULL)
    return FALSE;
  *scratch = (*kernel)->scratch;
  return TRUE;
}

static gboolean
cpu_run (GradusDevice *self,
         GradusStream *stream,
         GradusKernel *kernel,
         const GradusKernelArgs *args,
         GError **error)
{
  GradusCpuCall call = { cpu (self)->pool, cpu (self)->grain, kernel, args };

  if (kernel->run != NULL)
    kernel->run (&call);
  else
    gradus_cpu_for (&call, kernel->tile, &call, kernel->n_tiles, kernel->nanoseconds);
  return TRUE;
}

static const char *
cpu_kernel_provider (GradusKernel *kernel)
{
  return kernel->provider;
}

static void
cpu_kernel_free (GradusDevice *self, GradusKernel *kernel)
{
  if (kernel == NULL)
    return;
  if (kernel->finalize != NULL)
    kernel->finalize (kernel);
  g_free (kernel);
}

static GradusStream *
cpu_stream_new (GradusDevice *self, GError **error)
{
  return g_new0 (GradusStream, 1);
}

static void
cpu_stream_free (GradusDevice *self, GradusStream *stream)
{
  g_free (stream);
}

static GradusEvent *
cpu_event_new (GradusDevice *self, GError **error)
{
  return g_new0 (GradusEvent, 1);
}

static void
cpu_event_free (GradusDevice *self, GradusEvent *event)
{
  g_free (event);
}

static gboolean
cpu_event (GradusDevice *self, GradusEvent *event, GradusStream *stream, GError **error)
{
  return TRUE;
}

static gboolean
cpu_synchronise (GradusDevice *self, GradusStream *stream, GError **error)
{
  return TRUE;
}

static GradusDeviceMemory
cpu_memory (GradusDevice *self)
{
  return cpu (self)->memory;
}

static void
cpu_reset_peak (GradusDevice *self)
{
  cpu (self)->memory.peak = cpu (self)->memory.current;
}

static void
cpu_set_threads (GradusDevice *self, guint threads)
{
  gradus_pool_set_threads (cpu (self)->pool, threads);
}

static char *
processor_name (void)
{
  g_autofree char *text = NULL;
  const char *line, *colon;

  if (!g_file_get_contents ("/proc/cpuinfo", &text, NULL, NULL)
      || (line = strstr (text, "model name")) == NULL || (colon = strchr (line, ':')) == NULL)
    return g_strdup ("unknown");
  colon += 1 + strspn (colon + 1, " ");
  return g_strndup (colon, strcspn (colon, "\n"));
}

static void
add_string (JsonBuilder *builder, const char *name, const char *value)
{
  json_builder_set_member_name (builder, name);
  json_builder_add_string_value (builder, value);
}

void
gradus_cpu_libraries (char **onednn, const char **openblas)
{
  *onednn = gradus_cpu_onednn_version ();
  const GradusOpenblas *blas = gradus_openblas_get ();

  *openblas = blas != NULL ? blas->get_config () : "none";
}

static char *
cpu_describe (GradusDevice *self)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autoptr (JsonNode) root = NULL;
  g_autofree char *name = processor_name ();
  g_autofree char *onednn = gradus_cpu_onednn_version ();
  const char *core_type = g_getenv ("OPENBLAS_CORETYPE");
  const GradusOpenblas *blas = gradus_openblas_get ();

  json_builder_begin_object (builder);
  add_string (builder, "device", "cpu");
  add_string (builder, "model", name);
  add_string (builder, "isa", gradus_cpu_isa_name (cpu (self)->isa));
  json_builder_set_member_name (builder, "threads");
  json_builder_add_int_value (builder, gradus_pool_n_threads (cpu (self)->pool));
  add_string (builder, "onednn", onednn);
  add_string (builder, "onednn_isa", gradus_cpu_onednn_isa ());
  add_string (builder, "openblas", blas != NULL ? blas->get_config () : "none");
  add_string (builder, "openblas_core", blas != NULL ? blas->get_corename () : "none");
  if (core_type != NULL)
    add_string (builder, "OPENBLAS_CORETYPE", core_type);
  json_builder_end_object (builder);
  root = json_builder_get_root (builder);
  return json_to_string (root, FALSE);
}

static void
cpu_free (GradusDevice *self)
{
  gradus_pool_free (cpu (self)->pool);
  g_hash_table_unref (cpu (self)->rows);
  g_free (self);
}

static const GradusDeviceFuncs cpu_funcs = {
  .name = "cpu",
  .allocate = cpu_allocate,
  .deallocate = cpu_deallocate,
  .upload = cpu_copy,
  .download = cpu_copy,
  .prepare = cpu_prepare,
  .run = cpu_run,
  .kernel_provider = cpu_kernel_provider,
  .kernel_free = cpu_kernel_free,
  .stream_new = cpu_stream_new,
  .stream_free = cpu_stream_free,
  .event_new = cpu_event_new,
  .event_free = cpu_event_free,
  .event_record = cpu_event,
  .event_wait = cpu_event,
  .synchronise = cpu_synchronise,
  .memory = cpu_memory,
  .reset_peak = cpu_reset_peak,
  .set_threads = cpu_set_threads,
  .describe = cpu_describe,
  .free = cpu_free,
};

static void
add_rows (GradusCpuDevice *self, const GradusCpuRow *rows)
{
  for (; rows->op != NULL; rows++)
    g_hash_table_insert (self->rows, (gpointer) rows->op, (gpointer) rows);
}

#define ADD_LEVEL(self, level)                          \
  G_STMT_START                                          \
  {                                                     \
    add_rows (self, gradus_cpu_unary_rows_##level);     \
    add_rows (self, gradus_cpu_binary_rows_##level);    \
    add_rows (self, gradus_cpu_axis_rows_##level);      \
    add_rows (self, gradus_cpu_reduce_rows_##level);    \
    add_rows (self, gradus_cpu_shape_rows_##level);     \
    add_rows (self, gradus_cpu_place_rows_##level);     \
    add_rows (self, gradus_cpu_pool_rows_##level);      \
    add_rows (self, gradus_cpu_resample_rows_##level);  \
    add_rows (self, gradus_cpu_loss_rows_##level);      \
    add_rows (self, gradus_cpu_pointwise_rows_##level); \
    add_rows (self, gradus_cpu_statistic_rows_##level); \
    add_rows (self, gradus_cpu_norm_rows_##level);      \
    add_rows (self, gradus_cpu_norm_sample_rows_##level); \
    add_rows (self, gradus_cpu_softmax_rows_##level);   \
    add_rows (self, gradus_cpu_random_rows_##level);    \
    add_rows (self, gradus_cpu_recurrent_rows_##level); \
    add_rows (self, gradus_cpu_recurrent_grad_rows_##level); \
    add_rows (self, gradus_cpu_sequence_rows_##level);  \
    add_rows (self, gradus_cpu_optimizer_rows_##level); \
    add_rows (self, gradus_cpu_adafactor_rows_##level); \
    add_rows (self, gradus_cpu_step_rows_##level);      \
    add_rows (self, gradus_cpu_penalty_rows_##level);   \
  }                                                     \
  G_STMT_END

static void
register_kernels (GradusCpuDevice *self)
{
  switch (self->isa)
    {
#if defined(__x86_64__)
    case GRADUS_CPU_ISA_AVX512:
      ADD_LEVEL (self, avx512);
      break;
    case GRADUS_CPU_ISA_AVX2:
      ADD_LEVEL (self, avx2);
      break;
#else
    case GRADUS_CPU_ISA_AVX512:
    case GRADUS_CPU_ISA_AVX2:
#endif
    case GRADUS_CPU_ISA_BASELINE:
      ADD_LEVEL (self, baseline);
      break;
    }
  add_rows (self, gradus_cpu_matmul_rows);
  add_rows (self, gradus_cpu_onednn_conv_rows);
}

GradusDevice *
gradus_cpu_device_new (guint threads, GError **error)
{
  GradusCpuDevice *self;
  GradusCpuIsa isa = gradus_cpu_isa ();

  if (!gradus_cpu_onednn_init (isa, error))
    return NULL;
  self = g_new0 (GradusCpuDevice, 1);
  self->parent.funcs = &cpu_funcs;
  g_atomic_ref_count_init (&self->parent.refs);
  self->isa = isa;
  self->grain = GRAIN_NANOSECONDS;
  self->pool = gradus_pool_new (threads);
  self->rows = g_hash_table_new (g_str_hash, g_str_equal);
  self->memory.limit = (gint64) sysconf (_SC_PHYS_PAGES) * sysconf (_SC_PAGESIZE);
  register_kernels (self);
  return &self->parent;
}

void
gradus_cpu_device_set_grain (GradusDevice *device, double nanoseconds)
{
  g_return_if_fail (device != NULL && device->funcs == &cpu_funcs);
  cpu (device)->grain = nanoseconds;
}

GradusKernel *
gradus_cpu_kernel_new (gsize size, const char *provider)
{
  GradusKernel *kernel = g_malloc0 (size);

  kernel->provider = provider;
  kernel->n_tiles = 1;
  return kernel;
}

GradusKernel *
gradus_cpu_unsupported (const GradusKernelRequest *request, GError **error)
{
  g_autoptr (GString) types = g_string_new (NULL);

  for (guint i = 0; i < request->node->n_inputs; i++)
    {
      g_autofree char *shape = gradus_shape_to_string (&request->inputs[i].shape);
      g_string_append_printf (types, "%s%s%s", i > 0 ? ", " : "",
                              gradus_dtype_name (request->inputs[i].dtype), shape);
    }
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_UNSUPPORTED,
               _ ("The operation “%s” has no kernel for the processor with inputs %s."),
               request->node->op->name, types->str);
  return NULL;
}
