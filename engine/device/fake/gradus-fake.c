/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/fake/gradus-fake.h"

#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include "device/fake/gradus-fake-order.h"

#define PAGE 4096
#define SPOILT 0xa5
#define MAX_FAULTS 20

typedef struct
{
  char *address; /* reserved and out of reach */
  char *memory;  /* the inner device's */
  gsize bytes, reserved;
} Block;

typedef enum
{
  COMMAND_RUN,
  COMMAND_UPLOAD,
  COMMAND_DOWNLOAD,
  COMMAND_RECORD,
  COMMAND_WAIT,
} CommandType;

typedef struct
{
  CommandType      type;
  GradusKernel    *kernel;
  GradusKernelArgs args;      /* of the inner device; the arrays are the command's own */
  void            *memory;    /* of a copy, the inner device's */
  const void      *from_host;
  void            *to_host;
  gsize            bytes;
  guint            hash;      /* of what an upload was called with */
  GradusEvent     *event;
  guint64          generation;
} Command;

/* What a kernel touches comes with its request. */
struct _GradusKernel
{
  GradusKernel     *inner;
  const char       *provider; /* of it */
  const GradusNode *node;
  gsize            *input_bytes, *output_bytes;
  gsize             scratch;
  guint             waiting; /* commands */
};

struct _GradusStream
{
  guint           index;
  GQueue          commands;
  GradusFakeClock clock;
};

struct _GradusEvent
{
  GradusFakeClock clock;
  guint64         recorded, done; /* generations */
};

typedef struct
{
  GradusDevice     parent;
  GradusDevice    *inner;
  GradusStream    *inner_stream;
  GRand           *random;
  GArray          *blocks;  /* Block */
  GradusStream    *streams[GRADUS_FAKE_MAX_STREAMS];
  GradusFakeClock  host;
  GArray          *history; /* GradusFakeAccess */
  GPtrArray       *faults;  /* char * */
  GradusFakeCounts counts;
  guint64          calls, fail_at;
} FakeDevice;

static void G_GNUC_PRINTF (2, 3)
add_fault (FakeDevice *self, const char *format, ...)
{
  va_list args;

  if (self->faults->len == MAX_FAULTS)
    return;
  va_start (args, format);
  g_ptr_array_add (self->faults, g_strdup_vprintf (format, args));
  va_end (args);
}

/* Counts a call that can fail, and says whether this one does. */
static gboolean
fails (FakeDevice *self, const char *what, int code, GError **error)
{
  self->calls++;
  if (self->fail_at == 0 || --self->fail_at > 0)
    return FALSE;
  g_set_error (error, GRADUS_ERROR, code, "The fake device failed on demand: %s.", what);
  return TRUE;
}

static Block *
find_block (FakeDevice *self, const char *address)
{
  for (guint i = 0; i < self->blocks->len; i++)
    {
      Block *block = &g_array_index (self->blocks, Block, i);

      if (address >= block->address && address < block->address + block->reserved)
        return block;
    }
  return NULL;
}

/* The inner device's address; NULL and a fault for what was never given. */
static void *
translate (FakeDevice *self, const void *address, gsize bytes, const char *what)
{
  Block *block;

  if (address == NULL)
    return NULL;
  block = find_block (self, address);
  if (block == NULL)
    {
      add_fault (self, "%s: an address that is not the device's", what);
      return NULL;
    }
  if (bytes > block->bytes - MIN (block->bytes, (gsize) ((const char *) address - block->address)))
    {
      add_fault (self, "%s: %zu bytes pass the end of their memory", what, bytes);
      return NULL;
    }
  return block->memory + ((const char *) address - block->address);
}

/* Work is given to a stream: it comes after what the stream and the host had before. */
static void
tick (FakeDevice *self, GradusStream *stream)
{
  gradus_fake_clock_merge (&stream->clock, &self->host);
  stream->clock.ticks[stream->index]++;
}

static void
note_access (FakeDevice   *self,
             GradusStream *stream,
             const void   *address,
             gsize         bytes,
             gboolean      write,
             const char   *what)
{
  GradusFakeAccess access = { address, (const char *) address + bytes, write, stream->index,
                              stream->clock.ticks[stream->index], what };
  const GradusFakeAccess *race;

  if (address == NULL)
    return;
  race = gradus_fake_order_add (self->history, &access, &stream->clock);
  if (race != NULL)
    add_fault (self, "%s on stream %u and %s on stream %u touch the same memory in no order", what,
               stream->index, race->what, race->stream);
}

static void
command_free (Command *command)
{
  if (command->kernel != NULL)
    command->kernel->waiting--;
  g_free ((void *) command->args.inputs);
  g_free ((void *) command->args.outputs);
  g_free (command);
}

static guint
hash_bytes (const guchar *data, gsize bytes)
{
  guint hash = 2166136261u;

  for (gsize i = 0; i < bytes; i++)
    hash = (hash ^ data[i]) * 16777619u;
  return hash;
}

static void *
fake_allocate (GradusDevice *device, gsize bytes, GError **error)
{
  FakeDevice *self = (FakeDevice *) device;
  Block       block = { .bytes = bytes, .reserved = (bytes / PAGE + 1) * PAGE };

  self->counts.allocations++;
  if (fails (self, "allocate", GRADUS_ERROR_NO_MEMORY, error))
    return NULL;
  block.memory = self->inner->funcs->allocate (self->inner, bytes, error);
  if (block.memory == NULL)
    return NULL;
  block.address = mmap (NULL, block.reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block.address == MAP_FAILED)
    {
      self->inner->funcs->deallocate (self->inner, block.memory, bytes);
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY, "The fake device has no addresses left.");
      return NULL;
    }
  g_array_append_val (self->blocks, block);
  return block.address;
}

static void
fake_deallocate (GradusDevice *device, void *memory, gsize bytes)
{
  FakeDevice *self = (FakeDevice *) device;
  Block      *block;

  if (memory == NULL)
    return;
  self->counts.deallocations++;
  block = find_block (self, memory);
  if (block == NULL || block->address != memory || block->bytes != bytes)
    {
      add_fault (self, "deallocate: %zu bytes that were not allocated so", bytes);
      return;
    }
  for (guint i = 0; i < self->history->len; i++)
    {
      const GradusFakeAccess *access = &g_array_index (self->history, GradusFakeAccess, i);

      if (access->start < block->address + block->reserved && block->address < access->end)
        {
          add_fault (self, "deallocate: %s is waiting for this memory", access->what);
          break;
        }
    }
  self->inner->funcs->deallocate (self->inner, block->memory, bytes);
  munmap (block->address, block->reserved);
  g_array_remove_index_fast (self->blocks, block - (Block *) (void *) self->blocks->data);
}

static gboolean
fake_upload (GradusDevice *device,
             GradusStream *stream,
             void         *to,
             const void   *from_host,
             gsize         bytes,
             GError      **error)
{
  FakeDevice *self = (FakeDevice *) device;
  Command    *command;

  self->counts.uploads++;
  if (fails (self, "upload", GRADUS_ERROR_FAILED, error))
    return FALSE;
  command = g_new0 (Command, 1);
  command->type = COMMAND_UPLOAD;
  command->memory = translate (self, to, bytes, "upload");
  command->from_host = from_host;
  command->bytes = bytes;
  command->hash = hash_bytes (from_host, bytes);
  tick (self, stream);
  note_access (self, stream, to, bytes, TRUE, "upload");
  g_queue_push_tail (&stream->commands, command);
  return TRUE;
}

static gboolean
fake_download (GradusDevice *device,
               GradusStream *stream,
               void         *to_host,
               const void   *from,
               gsize         bytes,
               GError      **error)
{
  FakeDevice *self = (FakeDevice *) device;
  Command    *command;

  self->counts.downloads++;
  if (fails (self, "download", GRADUS_ERROR_FAILED, error))
    return FALSE;
  command = g_new0 (Command, 1);
  command->type = COMMAND_DOWNLOAD;
  command->memory = translate (self, from, bytes, "download");
  command->to_host = to_host;
  command->bytes = bytes;
  memset (to_host, SPOILT, bytes);
  tick (self, stream);
  note_access (self, stream, from, bytes, FALSE, "download");
  g_queue_push_tail (&stream->commands, command);
  return TRUE;
}

static gsize
type_bytes (const GradusValueType *type)
{
  return (gsize) gradus_shape_count (&type->shape) * gradus_dtype_size (type->dtype);
}

static void
fake_kernel_free (GradusDevice *device, GradusKernel *kernel)
{
  FakeDevice *self = (FakeDevice *) device;

  if (kernel == NULL)
    return;
  if (kernel->waiting > 0)
    add_fault (self, "kernel_free: %s is still to run", kernel->node->op->name);
  self->inner->funcs->kernel_free (self->inner, kernel->inner);
  g_free (kernel->input_bytes);
  g_free (kernel->output_bytes);
  g_free (kernel);
}

static gboolean
fake_prepare (GradusDevice              *device,
              const GradusKernelRequest *request,
              GradusKernel             **result,
              gsize                     *scratch,
              GError                   **error)
{
  FakeDevice       *self = (FakeDevice *) device;
  const GradusNode *node = request->node;
  GradusKernel     *kernel;

  self->counts.prepares++;
  if (fails (self, "prepare", GRADUS_ERROR_FAILED, error))
    return FALSE;
  kernel = g_new0 (GradusKernel, 1);
  if (!self->inner->funcs->prepare (self->inner, request, &kernel->inner, &kernel->scratch, error))
    {
      g_free (kernel);
      return FALSE;
    }
  kernel->node = node;
  kernel->provider = self->inner->funcs->kernel_provider (kernel->inner);
  kernel->input_bytes = g_new0 (gsize, node->n_inputs + 1);
  kernel->output_bytes = g_new0 (gsize, node->n_outputs + 1);
  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != GRADUS_NO_VALUE)
      kernel->input_bytes[i] = type_bytes (&request->inputs[i]);
  for (guint i = 0; i < node->n_outputs; i++)
    kernel->output_bytes[i] = type_bytes (&request->outputs[i]);
  *scratch = kernel->scratch;
  *result = kernel;
  return TRUE;
}

static gboolean
has_bit (guint32 mask, guint i)
{
  return i < 32 && (mask & (1u << i)) != 0;
}

static void
note_kernel (FakeDevice *self, GradusStream *stream, GradusKernel *kernel, const GradusKernelArgs *args)
{
  const GradusNode *node = kernel->node;
  const GradusOp   *op = node->op;

  for (guint i = 0; i < node->n_inputs; i++)
    if (!has_bit (op->shape_only, i))
      note_access (self, stream, args->inputs[i], kernel->input_bytes[i], has_bit (op->updates, i), op->name);
  for (guint i = 0; i < node->n_outputs; i++)
    note_access (self, stream, args->outputs[i], kernel->output_bytes[i], TRUE, op->name);
  if (kernel->scratch > 0)
    note_access (self, stream, args->scratch, kernel->scratch, TRUE, op->name);
}

static gboolean
fake_run (GradusDevice           *device,
          GradusStream           *stream,
          GradusKernel           *kernel,
          const GradusKernelArgs *args,
          GError                **error)
{
  FakeDevice       *self = (FakeDevice *) device;
  const GradusNode *node = kernel->node;
  Command          *command;
  void            **inputs, **outputs;

  self->counts.runs++;
  if (fails (self, node->op->name, GRADUS_ERROR_FAILED, error))
    return FALSE;
  command = g_new0 (Command, 1);
  inputs = g_new0 (void *, node->n_inputs + 1);
  outputs = g_new0 (void *, node->n_outputs + 1);
  command->type = COMMAND_RUN;
  command->kernel = kernel;
  command->args = (GradusKernelArgs) { inputs, outputs, NULL, args->seed, args->step };
  for (guint i = 0; i < node->n_inputs; i++)
    inputs[i] = translate (self, args->inputs[i], kernel->input_bytes[i], node->op->name);
  for (guint i = 0; i < node->n_outputs; i++)
    outputs[i] = translate (self, args->outputs[i], kernel->output_bytes[i], node->op->name);
  if (kernel->scratch > 0)
    command->args.scratch = translate (self, args->scratch, kernel->scratch, node->op->name);
  tick (self, stream);
  note_kernel (self, stream, kernel, args);
  kernel->waiting++;
  g_queue_push_tail (&stream->commands, command);
  return TRUE;
}

static const char *
fake_kernel_provider (GradusKernel *kernel)
{
  return kernel->provider;
}

static GradusStream *
fake_stream_new (GradusDevice *device, GError **error)
{
  FakeDevice *self = (FakeDevice *) device;

  if (fails (self, "stream_new", GRADUS_ERROR_FAILED, error))
    return NULL;
  for (guint i = 0; i < GRADUS_FAKE_MAX_STREAMS; i++)
    if (self->streams[i] == NULL)
      {
        GradusStream *stream = self->streams[i] = g_new0 (GradusStream, 1);

        stream->index = i;
        /* Time goes on where an earlier stream of this number left it. */
        stream->clock.ticks[i] = self->host.ticks[i];
        g_queue_init (&stream->commands);
        return stream;
      }
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_FAILED, "The fake device has %d streams at most.",
               GRADUS_FAKE_MAX_STREAMS);
  return NULL;
}

static void
fake_stream_free (GradusDevice *device, GradusStream *stream)
{
  FakeDevice *self = (FakeDevice *) device;
  Command    *command;

  if (!g_queue_is_empty (&stream->commands))
    add_fault (self, "stream_free: %u commands are still to be done", stream->commands.length);
  while ((command = g_queue_pop_head (&stream->commands)) != NULL)
    command_free (command);
  gradus_fake_clock_merge (&self->host, &stream->clock);
  self->streams[stream->index] = NULL;
  g_free (stream);
}

static GradusEvent *
fake_event_new (GradusDevice *device, GError **error)
{
  if (fails ((FakeDevice *) device, "event_new", GRADUS_ERROR_FAILED, error))
    return NULL;
  return g_new0 (GradusEvent, 1);
}

static gboolean
is_waited_for (FakeDevice *self, GradusEvent *event)
{
  for (guint i = 0; i < GRADUS_FAKE_MAX_STREAMS; i++)
    for (GList *l = self->streams[i] != NULL ? self->streams[i]->commands.head : NULL; l != NULL; l = l->next)
      if (((Command *) l->data)->event == event)
        return TRUE;
  return FALSE;
}

static void
fake_event_free (GradusDevice *device, GradusEvent *event)
{
  FakeDevice *self = (FakeDevice *) device;

  if (is_waited_for (self, event))
    {
      /* Left where it is, so that what waits finds it. */
      add_fault (self, "event_free: the event is still to be recorded or waited for");
      return;
    }
  g_free (event);
}

static gboolean
fake_event_record (GradusDevice *device, GradusEvent *event, GradusStream *stream, GError **error)
{
  FakeDevice *self = (FakeDevice *) device;
  Command    *command;

  self->counts.records++;
  if (fails (self, "event_record", GRADUS_ERROR_FAILED, error))
    return FALSE;
  tick (self, stream);
  command = g_new0 (Command, 1);
  command->type = COMMAND_RECORD;
  command->event = event;
  command->generation = ++event->recorded;
  event->clock = stream->clock;
  g_queue_push_tail (&stream->commands, command);
  return TRUE;
}

static gboolean
fake_event_wait (GradusDevice *device, GradusEvent *event, GradusStream *stream, GError **error)
{
  FakeDevice *self = (FakeDevice *) device;
  Command    *command;

  self->counts.waits++;
  if (fails (self, "event_wait", GRADUS_ERROR_FAILED, error))
    return FALSE;
  command = g_new0 (Command, 1);
  command->type = COMMAND_WAIT;
  command->event = event;
  command->generation = event->recorded;
  gradus_fake_clock_merge (&stream->clock, &event->clock);
  tick (self, stream);
  g_queue_push_tail (&stream->commands, command);
  return TRUE;
}

static gboolean
do_command (FakeDevice *self, const Command *command, GError **error)
{
  const GradusDeviceFuncs *funcs = self->inner->funcs;

  switch (command->type)
    {
    case COMMAND_RUN:
      return funcs->run (self->inner, self->inner_stream, command->kernel->inner, &command->args, error);
    case COMMAND_UPLOAD:
      if (hash_bytes (command->from_host, command->bytes) != command->hash)
        add_fault (self, "upload: the host's memory was changed before it was copied");
      return command->memory == NULL
             || funcs->upload (self->inner, self->inner_stream, command->memory, command->from_host,
                               command->bytes, error);
    case COMMAND_DOWNLOAD:
      return command->memory == NULL
             || funcs->download (self->inner, self->inner_stream, command->to_host, command->memory,
                                 command->bytes, error);
    case COMMAND_RECORD:
      command->event->done = command->generation;
      return TRUE;
    case COMMAND_WAIT:
      return TRUE;
    }
  g_assert_not_reached ();
}

/* Whether the first command of @stream may be done now. */
static gboolean
is_ready (const GradusStream *stream)
{
  const Command *command = stream == NULL ? NULL : g_queue_peek_head ((GQueue *) &stream->commands);

  return command != NULL
         && (command->type != COMMAND_WAIT || command->event->done >= command->generation);
}

static GradusStream *
choose_ready (FakeDevice *self)
{
  GradusStream *ready[GRADUS_FAKE_MAX_STREAMS];
  guint         n = 0;

  for (guint i = 0; i < GRADUS_FAKE_MAX_STREAMS; i++)
    if (is_ready (self->streams[i]))
      ready[n++] = self->streams[i];
  return n == 0 ? NULL : ready[g_rand_int_range (self->random, 0, n)];
}

static gboolean
fake_synchronise (GradusDevice *device, GradusStream *stream, GError **error)
{
  FakeDevice *self = (FakeDevice *) device;
  gboolean    ok = TRUE;

  self->counts.synchronisations++;
  /* Work that was given is done even where its end cannot be waited for. */
  while (!g_queue_is_empty (&stream->commands))
    {
      GradusStream *next = choose_ready (self);
      Command      *command;

      if (next == NULL)
        {
          g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_FAILED,
                       "The fake device waits for an event that nobody records.");
          return FALSE;
        }
      command = g_queue_pop_head (&next->commands);
      if (ok)
        ok = do_command (self, command, error);
      command_free (command);
    }
  gradus_fake_clock_merge (&self->host, &stream->clock);
  gradus_fake_order_prune (self->history, &self->host);
  return ok && !fails (self, "synchronise", GRADUS_ERROR_FAILED, error);
}

static GradusDeviceMemory
fake_memory (GradusDevice *device)
{
  FakeDevice *self = (FakeDevice *) device;

  return self->inner->funcs->memory (self->inner);
}

static void
fake_reset_peak (GradusDevice *device)
{
  FakeDevice *self = (FakeDevice *) device;

  self->inner->funcs->reset_peak (self->inner);
}

static void
fake_set_threads (GradusDevice *device, guint threads)
{
  FakeDevice *self = (FakeDevice *) device;

  self->inner->funcs->set_threads (self->inner, threads);
}

static char *
fake_describe (GradusDevice *device)
{
  FakeDevice *self = (FakeDevice *) device;

  return self->inner->funcs->describe (self->inner);
}

static void
fake_free (GradusDevice *device)
{
  FakeDevice *self = (FakeDevice *) device;

  for (guint i = 0; i < self->blocks->len; i++)
    munmap (g_array_index (self->blocks, Block, i).address, g_array_index (self->blocks, Block, i).reserved);
  self->inner->funcs->stream_free (self->inner, self->inner_stream);
  g_rand_free (self->random);
  g_array_unref (self->blocks);
  g_array_unref (self->history);
  g_ptr_array_unref (self->faults);
  gradus_device_unref (self->inner);
  g_free (self);
}

static const GradusDeviceFuncs fake_funcs = {
  .name = "fake",
  .allocate = fake_allocate,
  .deallocate = fake_deallocate,
  .upload = fake_upload,
  .download = fake_download,
  .prepare = fake_prepare,
  .run = fake_run,
  .kernel_provider = fake_kernel_provider,
  .kernel_free = fake_kernel_free,
  .stream_new = fake_stream_new,
  .stream_free = fake_stream_free,
  .event_new = fake_event_new,
  .event_free = fake_event_free,
  .event_record = fake_event_record,
  .event_wait = fake_event_wait,
  .synchronise = fake_synchronise,
  .memory = fake_memory,
  .reset_peak = fake_reset_peak,
  .set_threads = fake_set_threads,
  .describe = fake_describe,
  .free = fake_free,
};

GradusDevice *
gradus_fake_device_new (GradusDevice *inner, guint64 seed)
{
  FakeDevice *self;

  g_return_val_if_fail (inner != NULL, NULL);

  self = g_new0 (FakeDevice, 1);
  self->parent.funcs = &fake_funcs;
  g_atomic_ref_count_init (&self->parent.refs);
  self->inner = gradus_device_ref (inner);
  self->inner_stream = inner->funcs->stream_new (inner, NULL);
  self->random = g_rand_new_with_seed ((guint32) seed);
  self->blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  self->history = g_array_new (FALSE, FALSE, sizeof (GradusFakeAccess));
  self->faults = g_ptr_array_new_with_free_func (g_free);
  return &self->parent;
}

GradusDevice *
gradus_fake_device_inner (GradusDevice *device)
{
  return ((FakeDevice *) device)->inner;
}

GradusFakeCounts
gradus_fake_device_counts (GradusDevice *device)
{
  return ((FakeDevice *) device)->counts;
}

guint64
gradus_fake_device_calls (GradusDevice *device)
{
  return ((FakeDevice *) device)->calls;
}

void
gradus_fake_device_fail (GradusDevice *device, guint64 n)
{
  ((FakeDevice *) device)->fail_at = n;
}

char *
gradus_fake_device_faults (GradusDevice *device)
{
  FakeDevice         *self = (FakeDevice *) device;
  g_autoptr (GString) text = g_string_new (NULL);

  if (self->faults->len == 0)
    return NULL;
  for (guint i = 0; i < self->faults->len; i++)
    g_string_append_printf (text, "%s\n", (const char *) self->faults->pdata[i]);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

gsize
gradus_fake_device_left (GradusDevice *device)
{
  FakeDevice *self = (FakeDevice *) device;
  gsize       left = 0;

  for (guint i = 0; i < self->blocks->len; i++)
    left += MAX (g_array_index (self->blocks, Block, i).bytes, 1);
  for (guint i = 0; i < GRADUS_FAKE_MAX_STREAMS; i++)
    if (self->streams[i] != NULL)
      left += self->streams[i]->commands.length;
  return left;
}
