/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/gradus-execution-private.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

/* The full batch, the short last one, those of validation and test, and a changed size; where time is
 * free, full and short batches of the lengths of two dozen buckets. */
#define MAX_KERNEL_SETS 4
#define MAX_TIMED_KERNEL_SETS 48

typedef struct
{
  void  *memory;
  gint64 bytes;
} Arena;

/* The addresses that a node's kernel gets, the same for every batch size. */
typedef struct
{
  void **inputs, **outputs;
} NodeArgs;

struct _GradusExecution
{
  GradusPlan      *plan;
  GradusProgram   *program;
  GradusVariables *variables; /* borrowed */
  GradusDevice    *device;
  GradusStream    *stream;
  Arena            step, io, constants, scratch;
  guint            n_values, n_nodes;
  void           **addresses;
  void           **node_addresses; /* what the entries of args point into */
  NodeArgs        *args;
  float           *hypers; /* by value id */
  gboolean         hypers_changed;
  GPtrArray       *sets;
  GradusKernelSet *current;
  guint64          uses;
  guint            builds;
  gboolean         has_time;
  guint8          *staging; /* host memory for a lengthened input, or NULL */
  gsize            staging_size;
  const char      *reason; /* of the last build */
  GradusSizes      built;
  gint64           nanoseconds[3];
};

static gint64
now_nanoseconds (void)
{
  struct timespec now;
  clock_gettime (CLOCK_MONOTONIC, &now);
  return now.tv_sec * G_GINT64_CONSTANT (1000000000) + now.tv_nsec;
}

static gboolean
arena_allocate (GradusExecution *self, Arena *arena, gint64 bytes, GError **error)
{
  arena->memory = self->device->funcs->allocate (self->device, (gsize) bytes, error);
  if (arena->memory == NULL)
    return FALSE;
  arena->bytes = bytes;
  return TRUE;
}

static void
arena_free (GradusExecution *self, Arena *arena)
{
  if (arena->memory != NULL)
    self->device->funcs->deallocate (self->device, arena->memory, (gsize) arena->bytes);
  arena->memory = NULL;
  arena->bytes = 0;
}

static gboolean
find_addresses (GradusExecution *self, GError **error)
{
  self->addresses = g_new0 (void *, MAX (self->n_values, 1));
  for (guint id = 0; id < self->n_values; id++)
    {
      GradusValueId root = gradus_plan_root (self->plan, id);
      const GradusValue *value = gradus_program_value (self->program, root);
      gint64 offset = gradus_plan_offset (self->plan, id);

      switch (value->kind)
        {
        case GRADUS_VALUE_INPUT:
          self->addresses[id] = (char *) self->io.memory + offset;
          break;
        case GRADUS_VALUE_HYPER:
        case GRADUS_VALUE_CONSTANT:
          self->addresses[id] = (char *) self->constants.memory + offset;
          break;
        case GRADUS_VALUE_TEMPORARY:
          self->addresses[id] = (char *) self->step.memory + offset;
          break;
        case GRADUS_VALUE_VARIABLE:
          self->addresses[id] = gradus_variables_address (self->variables, value->name, &value->type);
          if (self->addresses[id] == NULL)
            {
              g_autofree char *shape = gradus_shape_to_string (&value->type.shape);
              g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_FAILED,
                           _ ("The program needs the variable “%s” of shape %s, which the model's "
                              "store does not have."),
                           value->name, shape);
              return FALSE;
            }
          break;
        }
    }
  return TRUE;
}

static void
find_args (GradusExecution *self)
{
  void **next;
  gsize n = 0;

  for (guint i = 0; i < self->n_nodes; i++)
    {
      const GradusNode *node = gradus_program_node (self->program, i);
      n += node->n_inputs + node->n_outputs;
    }
  self->node_addresses = next = g_new0 (void *, MAX (n, 1));
  self->args = g_new0 (NodeArgs, MAX (self->n_nodes, 1));
  for (guint i = 0; i < self->n_nodes; i++)
    {
      const GradusNode *node = gradus_program_node (self->program, i);
      self->args[i].inputs = next;
      for (guint k = 0; k < node->n_inputs; k++)
        *next++ = node->inputs[k] == GRADUS_NO_VALUE ? NULL : self->addresses[node->inputs[k]];
      self->args[i].outputs = next;
      for (guint k = 0; k < node->n_outputs; k++)
        *next++ = self->addresses[node->outputs[k]];
    }
}

static gboolean
fill_constants (GradusExecution *self, GError **error)
{
  self->hypers = g_new0 (float, MAX (self->n_values, 1));
  self->hypers_changed = TRUE;
  for (guint id = 0; id < self->n_values; id++)
    {
      const GradusValue *value = gradus_program_value (self->program, id);
      gsize bytes;
      const void *data;

      if (value->kind == GRADUS_VALUE_HYPER)
        self->hypers[id] = value->initial;
      if (value->kind != GRADUS_VALUE_CONSTANT)
        continue;
      data = g_bytes_get_data (value->constant, &bytes);
      if (bytes > 0
          && !self->device->funcs->upload (self->device, self->stream, self->addresses[id], data,
                                           bytes, error))
        return FALSE;
    }
  return self->device->funcs->synchronise (self->device, self->stream, error);
}

/* Scratch for @set; a smaller batch may want more than the largest, if a library then chooses
 * another algorithm. */
static gboolean
fit_scratch (GradusExecution *self, const GradusKernelSet *set, GError **error)
{
  if (self->scratch.memory != NULL && (gint64) set->scratch <= self->scratch.bytes)
    return TRUE;
  arena_free (self, &self->scratch);
  return arena_allocate (self, &self->scratch, (gint64) set->scratch, error);
}

static void
drop_oldest_set (GradusExecution *self)
{
  guint oldest = 0;

  for (guint i = 1; i < self->sets->len; i++)
    if (((GradusKernelSet *) self->sets->pdata[i])->used
        < ((GradusKernelSet *) self->sets->pdata[oldest])->used)
      oldest = i;
  gradus_kernel_set_free (g_ptr_array_remove_index_fast (self->sets, oldest), self->device);
}

static gboolean
is_set_of (const GradusKernelSet *set, GradusSizes sizes)
{
  return set->sizes.batch == sizes.batch && set->sizes.time == sizes.time;
}

static void
note_build (GradusExecution *self, GradusSizes sizes)
{
  guint most = self->has_time ? MAX_TIMED_KERNEL_SETS : MAX_KERNEL_SETS;

  self->built = sizes;
  if (self->builds == 0)
    self->reason = N_ ("Kernels for the largest sizes were prepared at the start.");
  else if (self->sets->len == most)
    self->reason = N_ ("Kernels were prepared for sizes that were not met lately; the oldest were dropped for them.");
  else
    self->reason = N_ ("Kernels were prepared for sizes that were not met before.");
  if (self->sets->len == most)
    drop_oldest_set (self);
}

/* Makes the kernels for @sizes the current ones. */
static gboolean
choose_set (GradusExecution *self, GradusSizes sizes, GError **error)
{
  GradusKernelSet *set = NULL;

  if (!self->has_time)
    sizes.time = gradus_plan_max (self->plan).time;
  if (self->current != NULL && is_set_of (self->current, sizes))
    return TRUE;
  for (guint i = 0; i < self->sets->len && set == NULL; i++)
    if (is_set_of (self->sets->pdata[i], sizes))
      set = self->sets->pdata[i];
  if (set == NULL)
    {
      set = gradus_kernel_set_new (self->plan, self->device, sizes, error);
      if (set == NULL)
        return FALSE;
      note_build (self, sizes);
      g_ptr_array_add (self->sets, set);
      self->builds++;
    }
  /* Without scratch there is no set to run. */
  self->current = NULL;
  if (!fit_scratch (self, set, error))
    return FALSE;
  set->used = ++self->uses;
  self->current = set;
  return TRUE;
}

/* Time is free where an input's is; those inputs may be lengthened. */
static void
find_time (GradusExecution *self)
{
  for (guint id = 0; id < self->n_values; id++)
    {
      const GradusValue *value = gradus_program_value (self->program, id);

      if (value->kind != GRADUS_VALUE_INPUT || !gradus_shape_has_time (&value->type.shape))
        continue;
      self->has_time = TRUE;
      self->staging_size = MAX (self->staging_size,
                                (gsize) gradus_plan_bytes (self->plan, id, gradus_plan_max (self->plan)));
    }
}

GradusExecution *
gradus_execution_new (GradusPlan *plan, GradusVariables *variables, GradusDevice *device, GError **error)
{
  g_autoptr (GradusExecution) self = NULL;
  GradusPlanMemory memory;

  g_return_val_if_fail (plan != NULL && variables != NULL && device != NULL, NULL);
  g_return_val_if_fail (gradus_variables_device (variables) == device, NULL);

  self = g_new0 (GradusExecution, 1);
  self->plan = gradus_plan_ref (plan);
  self->program = gradus_plan_program (plan);
  self->variables = variables;
  self->device = gradus_device_ref (device);
  self->n_values = gradus_program_n_values (self->program);
  self->n_nodes = gradus_program_n_nodes (self->program);
  self->sets = g_ptr_array_new ();
  find_time (self);
  self->stream = device->funcs->stream_new (device, error);
  if (self->stream == NULL)
    return NULL;
  memory = gradus_plan_memory (plan);
  /* The kernels first: if one is missing, nothing large was allocated. */
  if (!choose_set (self, gradus_plan_max (plan), error)
      || !arena_allocate (self, &self->step, memory.step, error)
      || !arena_allocate (self, &self->io, memory.io, error)
      || !arena_allocate (self, &self->constants, memory.constants, error)
      || !find_addresses (self, error) || !fill_constants (self, error))
    return NULL;
  find_args (self);
  return g_steal_pointer (&self);
}

void
gradus_execution_free (GradusExecution *self)
{
  if (self == NULL)
    return;
  /* A run that failed half way may have left work that still uses all this. */
  if (self->stream != NULL)
    self->device->funcs->synchronise (self->device, self->stream, NULL);
  for (guint i = 0; i < self->sets->len; i++)
    gradus_kernel_set_free (self->sets->pdata[i], self->device);
  g_ptr_array_unref (self->sets);
  arena_free (self, &self->step);
  arena_free (self, &self->io);
  arena_free (self, &self->constants);
  arena_free (self, &self->scratch);
  if (self->stream != NULL)
    self->device->funcs->stream_free (self->device, self->stream);
  g_free (self->addresses);
  g_free (self->node_addresses);
  g_free (self->args);
  g_free (self->hypers);
  g_free (self->staging);
  gradus_plan_unref (self->plan);
  gradus_device_unref (self->device);
  g_free (self);
}

gboolean
gradus_execution_predict (GradusPlan *plan, GradusDevice *device, GradusExecutionMemory *memory, GError **error)
{
  GradusPlanMemory planned;
  GradusKernelSet *set;

  g_return_val_if_fail (plan != NULL && device != NULL && memory != NULL, FALSE);
  set = gradus_kernel_set_new (plan, device, gradus_plan_max (plan), error);
  if (set == NULL)
    return FALSE;
  planned = gradus_plan_memory (plan);
  *memory = (GradusExecutionMemory){ planned.step, planned.io, planned.constants, (gint64) set->scratch };
  gradus_kernel_set_free (set, device);
  return TRUE;
}

static gboolean
check_sizes (GradusExecution *self, GradusSizes sizes, GError **error)
{
  gint64 batch = sizes.batch, max_batch = gradus_plan_max (self->plan).batch;
  gint64 max_time = gradus_plan_max (self->plan).time;

  if (self->has_time && (sizes.time < 1 || sizes.time > max_time))
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _ ("A sequence of %" PRId64 " steps was given to a program planned for 1 to %" PRId64
                      ". Plan it for the longer sequence, or cut the sequence."),
                   sizes.time, max_time);
      return FALSE;
    }
  if (batch >= 1 && batch <= max_batch)
    return TRUE;
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
               _ ("A batch of %" PRId64 " samples was given to a program planned for 1 to %" PRId64
                  ". Plan it for the larger batch."),
               batch, max_batch);
  return FALSE;
}

gboolean
gradus_execution_set_input (GradusExecution *self, GradusValueId id, const void *data, GradusSizes sizes, GError **error)
{
  g_return_val_if_fail (self != NULL && id < self->n_values && data != NULL, FALSE);
  g_return_val_if_fail (gradus_program_value (self->program, id)->kind == GRADUS_VALUE_INPUT, FALSE);

  return check_sizes (self, sizes, error)
         && self->device->funcs->upload (self->device, self->stream, self->addresses[id], data,
                                         (gsize) gradus_plan_bytes (self->plan, id, sizes), error);
}

static void
write_padding (GradusDType dtype, double padding, gsize n, void *to)
{
  for (gsize i = 0; i < n; i++)
    switch (dtype)
      {
      case GRADUS_DTYPE_FLOAT32:
        ((float *) to)[i] = (float) padding;
        break;
      case GRADUS_DTYPE_FLOAT64:
        ((double *) to)[i] = padding;
        break;
      case GRADUS_DTYPE_INT32:
        ((gint32 *) to)[i] = (gint32) padding;
        break;
      case GRADUS_DTYPE_INT64:
        ((gint64 *) to)[i] = (gint64) padding;
        break;
      case GRADUS_DTYPE_UINT8:
      case GRADUS_DTYPE_BOOL:
      default:
        ((guint8 *) to)[i] = (guint8) padding;
        break;
      }
}

gboolean
gradus_execution_set_sequence (GradusExecution *self, GradusValueId id, const void *data, GradusSizes sizes, gint64 time, double padding, GError **error)
{
  const GradusValueType *type;
  gsize row, size;

  g_return_val_if_fail (self != NULL && id < self->n_values && data != NULL, FALSE);
  type = &gradus_program_value (self->program, id)->type;

  if (time == sizes.time || type->shape.rank < 2 || type->shape.dims[1] != GRADUS_DIM_TIME)
    return gradus_execution_set_input (self, id, data, sizes, error);
  if (!check_sizes (self, sizes, error) || !check_sizes (self, gradus_sizes (sizes.batch, time), error))
    return FALSE;
  if (self->staging == NULL && (self->staging = g_try_malloc (self->staging_size)) == NULL)
    {
      g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
                           _ ("There is no memory left to lengthen sequences. Choose a smaller batch."));
      return FALSE;
    }
  row = (gsize) gradus_plan_bytes (self->plan, id, gradus_sizes (1, 1));
  size = gradus_dtype_size (type->dtype);
  for (gint64 i = 0; i < sizes.batch; i++)
    {
      guint8 *to = self->staging + (gsize) (i * time) * row;

      memcpy (to, (const guint8 *) data + (gsize) (i * sizes.time) * row, (gsize) sizes.time * row);
      write_padding (type->dtype, padding, (gsize) (time - sizes.time) * row / size,
                     to + (gsize) sizes.time * row);
    }
  return gradus_execution_set_input (self, id, self->staging, gradus_sizes (sizes.batch, time), error)
         /* The memory is used again at the next call. */
         && self->device->funcs->synchronise (self->device, self->stream, error);
}

gboolean
gradus_execution_synchronise (GradusExecution *self, GError **error)
{
  g_return_val_if_fail (self != NULL, FALSE);
  return self->device->funcs->synchronise (self->device, self->stream, error);
}

void
gradus_execution_set_hyper (GradusExecution *self, GradusValueId id, float value)
{
  g_return_if_fail (self != NULL && id < self->n_values);
  g_return_if_fail (gradus_program_value (self->program, id)->kind == GRADUS_VALUE_HYPER);

  if (memcmp (&self->hypers[id], &value, sizeof value) == 0)
    return;
  self->hypers[id] = value;
  self->hypers_changed = TRUE;
}

float
gradus_execution_get_hyper (GradusExecution *self, GradusValueId id)
{
  g_return_val_if_fail (self != NULL && id < self->n_values, 0.0f);
  return self->hypers[id];
}

static gboolean
upload_hypers (GradusExecution *self, GError **error)
{
  if (!self->hypers_changed)
    return TRUE;
  for (guint id = 0; id < self->n_values; id++)
    if (gradus_program_value (self->program, id)->kind == GRADUS_VALUE_HYPER
        && !self->device->funcs->upload (self->device, self->stream, self->addresses[id],
                                         &self->hypers[id], sizeof (float), error))
      return FALSE;
  self->hypers_changed = FALSE;
  return TRUE;
}

static gboolean
begin (GradusExecution *self, GradusSizes sizes, GError **error)
{
  memset (self->nanoseconds, 0, sizeof self->nanoseconds);
  return check_sizes (self, sizes, error) && choose_set (self, sizes, error)
         && upload_hypers (self, error);
}

static gboolean
run_node (GradusExecution *self, guint i, guint64 seed, guint64 step, GError **error)
{
  GradusKernelArgs args = {
    .inputs = self->args[i].inputs,
    .outputs = self->args[i].outputs,
    .scratch = self->scratch.memory,
    .seed = seed,
    .step = step,
  };

  return self->current->kernels[i] == NULL
         || self->device->funcs->run (self->device, self->stream, self->current->kernels[i], &args, error);
}

gboolean
gradus_execution_run_phases (GradusExecution *self,
                             GradusSizes sizes,
                             guint64 seed,
                             guint64 step,
                             GradusPhase first,
                             GradusPhase last,
                             GError **error)
{
  GradusPhase phase = first;
  gint64 start, now;

  g_return_val_if_fail (self != NULL, FALSE);
  if (!begin (self, sizes, error))
    return FALSE;
  start = now_nanoseconds ();
  for (guint i = 0; i < self->n_nodes; i++)
    {
      GradusPhase next = gradus_program_node (self->program, i)->phase;
      if (next < first || next > last)
        continue;
      if (next != phase)
        {
          now = now_nanoseconds ();
          self->nanoseconds[MIN (phase, GRADUS_PHASE_UPDATE)] += now - start;
          start = now;
          phase = next;
        }
      if (!run_node (self, i, seed, step, error))
        return FALSE;
    }
  if (!self->device->funcs->synchronise (self->device, self->stream, error))
    return FALSE;
  self->nanoseconds[MIN (phase, GRADUS_PHASE_UPDATE)] += now_nanoseconds () - start;
  return TRUE;
}

gboolean
gradus_execution_run (GradusExecution *self, GradusSizes sizes, guint64 seed, guint64 step, GError **error)
{
  return gradus_execution_run_phases (self, sizes, seed, step, GRADUS_PHASE_FORWARD,
                                      GRADUS_PHASE_STATISTICS, error);
}

gboolean
gradus_execution_read (GradusExecution *self, GradusValueId id, void *data, gsize bytes, GError **error)
{
  const GradusDeviceFuncs *funcs;
  gint64 size;

  g_return_val_if_fail (self != NULL && id < self->n_values && data != NULL, FALSE);
  funcs = self->device->funcs;
  size = gradus_plan_bytes (self->plan, id, self->current->sizes);
  if (size != (gint64) bytes)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_FAILED,
                   _ ("A value of %" PRId64 " bytes was read as %zu."), size, bytes);
      return FALSE;
    }
  return funcs->download (self->device, self->stream, data, self->addresses[id], bytes, error)
         && funcs->synchronise (self->device, self->stream, error);
}

typedef struct
{
  char *data;
  gsize size;
} HostBuffer;

/* Copies the outputs of @node into @host, which grows as needed. */
static gboolean
download_outputs (GradusExecution *self, const GradusNode *node, HostBuffer *host, const void **outputs, GError **error)
{
  gsize offset = 0, total = 0;

  for (guint k = 0; k < node->n_outputs; k++)
    total += (gsize) gradus_plan_bytes (self->plan, node->outputs[k], self->current->sizes) + 16;
  if (total > host->size)
    {
      g_free (host->data);
      host->size = 0;
      host->data = g_try_malloc (total);
      if (host->data == NULL)
        {
          g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
                       _ ("There is no memory to show the values of “%s”. Choose a smaller batch."),
                       node->op->name);
          return FALSE;
        }
      host->size = total;
    }
  for (guint k = 0; k < node->n_outputs; k++)
    {
      gsize bytes = (gsize) gradus_plan_bytes (self->plan, node->outputs[k], self->current->sizes);
      outputs[k] = host->data + offset;
      if (!self->device->funcs->download (self->device, self->stream, host->data + offset,
                                          self->addresses[node->outputs[k]], bytes, error))
        return FALSE;
      offset += (bytes + 15) / 16 * 16;
    }
  return self->device->funcs->synchronise (self->device, self->stream, error);
}

static gboolean
inspect_nodes (GradusExecution *self,
               guint64 seed,
               guint64 step,
               GradusPhase last,
               HostBuffer *host,
               GradusInspectFunc func,
               gpointer user_data,
               GError **error)
{
  g_autofree GradusValueType *types = NULL;
  g_autofree const void **outputs = NULL;
  guint most = 1;

  for (guint i = 0; i < self->n_nodes; i++)
    most = MAX (most, gradus_program_node (self->program, i)->n_outputs);
  types = g_new0 (GradusValueType, most);
  outputs = g_new0 (const void *, most);
  for (guint i = 0; i < self->n_nodes; i++)
    {
      const GradusNode *node = gradus_program_node (self->program, i);
      gint64 start = now_nanoseconds (), spent;

      if (node->phase > last)
        continue;
      if (!run_node (self, i, seed, step, error)
          || !self->device->funcs->synchronise (self->device, self->stream, error))
        return FALSE;
      spent = now_nanoseconds () - start;
      self->nanoseconds[MIN (node->phase, GRADUS_PHASE_UPDATE)] += spent;
      if (!download_outputs (self, node, host, outputs, error))
        return FALSE;
      for (guint k = 0; k < node->n_outputs; k++)
        types[k] = self->current->types[node->outputs[k]];
      if (!func (node, types, outputs, spent, user_data))
        return TRUE;
    }
  return TRUE;
}

gboolean
gradus_execution_inspect (GradusExecution *self,
                          GradusSizes sizes,
                          guint64 seed,
                          guint64 step,
                          GradusPhase last,
                          GradusInspectFunc func,
                          gpointer user_data,
                          GError **error)
{
  HostBuffer host = { NULL, 0 };
  gboolean done;

  g_return_val_if_fail (self != NULL && func != NULL, FALSE);
  done = begin (self, sizes, error) && inspect_nodes (self, seed, step, last, &host, func, user_data, error);
  g_free (host.data);
  return done;
}

gsize
gradus_execution_value_bytes (GradusExecution *self, GradusValueId id)
{
  g_return_val_if_fail (self != NULL && self->current != NULL && id < self->n_values, 0);
  return (gsize) gradus_plan_bytes (self->plan, id, self->current->sizes);
}

void
gradus_execution_times (GradusExecution *self, gint64 nanoseconds[3])
{
  g_return_if_fail (self != NULL);
  memcpy (nanoseconds, self->nanoseconds, sizeof self->nanoseconds);
}

GradusExecutionMemory
gradus_execution_memory (GradusExecution *self)
{
  g_return_val_if_fail (self != NULL, (GradusExecutionMemory){ 0 });
  return (GradusExecutionMemory){ self->step.bytes, self->io.bytes, self->constants.bytes,
                                  self->scratch.bytes };
}

guint
gradus_execution_builds (GradusExecution *self)
{
  g_return_val_if_fail (self != NULL, 0);
  return self->builds;
}

const char *
gradus_execution_build_reason (GradusExecution *self, GradusSizes *sizes)
{
  g_return_val_if_fail (self != NULL && sizes != NULL, NULL);
  *sizes = self->built;
  return self->reason;
}

char *
gradus_execution_to_string (GradusExecution *self)
{
  g_autoptr (GString) text = NULL;
  g_autofree char *plan = NULL;
  g_auto (GStrv) lines = NULL;

  g_return_val_if_fail (self != NULL, NULL);
  text = g_string_new (NULL);
  plan = gradus_plan_to_string (self->plan);
  lines = g_strsplit (plan, "\n", -1);
  /* The plan's text is a heading and then a line a node. */
  for (guint i = 0; lines[i] != NULL && lines[i][0] != '\0'; i++)
    {
      g_string_append (text, lines[i]);
      if (i >= 1 && i <= self->n_nodes)
        {
          GradusKernel *kernel = self->current->kernels[i - 1];
          g_string_append_printf (text, "  by %s",
                                  kernel == NULL ? "nobody (alias)"
                                                 : self->device->funcs->kernel_provider (kernel));
        }
      g_string_append_c (text, '\n');
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}
