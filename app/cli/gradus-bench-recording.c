/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-bench-recording.h"

#include "gradus-bench-source.h"
#include "gradus-json.h"
#include "log/gradus-recorder.h"
#include "log/gradus-run.h"
#include "train/gradus-trainer.h"

#include <time.h>

#define BATCH 64

/* A block has as many steps as lie between two histograms. */
#define BLOCK 64
#define N_PAIRS 10

/* Blocks at the beginning that do not count: caches, clocks and kernels warm up. */
#define N_WARM_UP 2

/* One more, whose beginning is the end of the last block. */
#define N_STEPS ((N_WARM_UP + 2 * N_PAIRS) * BLOCK + 1)

static const char model_text[] =
    "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"bench\", \"layers\": ["
    "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 28, 28, 1],"
    " \"dtype\": \"float32\", \"name\": \"image\"}},"
    "{\"class_name\": \"Conv2D\", \"config\": {\"name\": \"conv2d\", \"filters\": 32,"
    " \"kernel_size\": [3, 3], \"activation\": \"relu\"}},"
    "{\"class_name\": \"Conv2D\", \"config\": {\"name\": \"conv2d_1\", \"filters\": 64,"
    " \"kernel_size\": [3, 3], \"activation\": \"relu\"}},"
    "{\"class_name\": \"MaxPooling2D\", \"config\": {\"name\": \"pool\","
    " \"pool_size\": [2, 2]}},"
    "{\"class_name\": \"Flatten\", \"config\": {\"name\": \"flatten\"}},"
    "{\"class_name\": \"Dense\", \"config\": {\"name\": \"dense\", \"units\": 128,"
    " \"activation\": \"relu\"}},"
    "{\"class_name\": \"Dense\", \"config\": {\"name\": \"classes\", \"units\": 10,"
    " \"activation\": \"softmax\"}}]}}";
static const char compile_text[] =
    "{\"optimizer\": {\"class_name\": \"Adam\", \"config\": {\"learning_rate\": 0.001}},"
    " \"loss\": \"sparse_categorical_crossentropy\", \"metrics\": [\"accuracy\"]}";
static const char log_text[] =
    "{\"scalars_every\": 1, \"histograms_every\": " G_STRINGIFY (BLOCK) ", \"per_layer_every\": 1}";

static JsonObject *
parse_object (const char *text)
{
  g_autoptr (JsonNode) node = gradus_json_parse (text, -1, "bench", NULL);

  return json_node_dup_object (node);
}

static gboolean
records (gint64 block)
{
  return block % 2 == 1;
}

/* What was measured: when each step began, in milliseconds. */
typedef struct
{
  GradusTrainer *trainer;
  GArray        *wall;
  GArray        *cpu; /* of the whole process, less disturbed by others on the machine */
} Meter;

static void
read_clock (clockid_t clock, GArray *values)
{
  struct timespec now;
  double          ms = 0;

  clock_gettime (clock, &now);
  ms = (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
  g_array_append_val (values, ms);
}

static void
begin_step (gint64 position, gpointer data)
{
  Meter *meter = data;

  gradus_trainer_set_recording (meter->trainer, records (position / BLOCK));
  read_clock (CLOCK_MONOTONIC, meter->wall);
  read_clock (CLOCK_PROCESS_CPUTIME_ID, meter->cpu);
}

static gboolean
train (GradusObserver *observer, Meter *meter, GError **error)
{
  g_autoptr (JsonObject) json = parse_object (model_text);
  g_autoptr (JsonObject) compile = parse_object (compile_text);
  g_autoptr (JsonObject) log = parse_object (log_text);
  g_autoptr (GradusModel) model = gradus_model_new_from_json (json, "bench", "", error);
  g_autoptr (GradusTrainerOptions) options =
      model != NULL ? gradus_trainer_options_new (compile, NULL, log, NULL, "bench", NULL, error)
                    : NULL;
  g_autoptr (GradusDevice) device = options != NULL ? gradus_device_open ("cpu", 0, error) : NULL;
  g_autoptr (GradusTrainer) trainer = NULL;
  GradusTrainerConfig config = { .observer = observer, .seed = 1 };
  gboolean            done = FALSE;

  if (device == NULL)
    return FALSE;
  config.model = model;
  config.options = options;
  config.device = device;
  config.train = gradus_bench_source_new (3, (const gint64[]){ 28, 28, 1 }, BATCH,
                                          N_STEPS, begin_step, meter);
  trainer = gradus_trainer_new (&config, error);
  meter->trainer = trainer;
  done = trainer != NULL && gradus_trainer_run (trainer, error) == GRADUS_RUN_FINISHED;
  g_clear_pointer (&trainer, gradus_trainer_free);
  config.train->funcs->free (config.train);
  return done;
}

/* Trains into a log of its own in @folder. */
static gboolean
train_and_record (const char *folder, Meter *meter, GError **error)
{
  g_autoptr (GradusWorkspace) workspace =
      gradus_workspace_open (folder, GRADUS_WORKSPACE_CREATE, error);
  g_autoptr (GradusRecorder) recorder =
      workspace != NULL ? gradus_recorder_new (workspace, 0, NULL, NULL, error) : NULL;
  GradusRunSpec   spec = { .name = "bench", .status = GRADUS_RUN_QUEUED };
  GradusObserver *observer = NULL;
  gint64          run = recorder != NULL ? gradus_run_create (workspace, &spec, NULL, NULL, error) : 0;
  gboolean        done = FALSE;

  if (run == 0)
    return FALSE;
  observer = gradus_recorder_attach (recorder, run, NULL, NULL, NULL, error);
  if (observer == NULL)
    return FALSE;
  done = train (observer, meter, error);
  gradus_recorder_detach (recorder, observer);
  return done;
}

static void
remove_folder (const char *folder)
{
  g_autoptr (GFile) file = g_file_new_for_path (folder);
  g_autoptr (GFileEnumerator) children = g_file_enumerate_children (
      file, G_FILE_ATTRIBUTE_STANDARD_NAME, G_FILE_QUERY_INFO_NOFOLLOW_SYMLINKS, NULL, NULL);
  GFile *child = NULL;

  while (children != NULL && g_file_enumerator_iterate (children, NULL, &child, NULL, NULL)
         && child != NULL)
    remove_folder (g_file_peek_path (child));
  g_file_delete (file, NULL, NULL);
}

static int
compare_doubles (gconstpointer a, gconstpointer b)
{
  double x = *(const double *)a;
  double y = *(const double *)b;

  return (x > y) - (x < y);
}

static double
median (GArray *values)
{
  g_array_sort (values, compare_doubles);
  return g_array_index (values, double, values->len / 2);
}

/* Mean milliseconds of a step of @block. */
static double
block_ms (GArray *clock, guint block)
{
  return (g_array_index (clock, double, (block + 1) * BLOCK)
          - g_array_index (clock, double, block * BLOCK))
         / BLOCK;
}

/* Adds @name_on, @name_off and the ratio of neighbouring blocks, less 1, as @overhead. */
static void
put_overhead (JsonObject *object, GArray *clock, const char *name, const char *overhead)
{
  g_autoptr (GArray) on = g_array_new (FALSE, FALSE, sizeof (double));
  g_autoptr (GArray) off = g_array_new (FALSE, FALSE, sizeof (double));
  g_autoptr (GArray) ratios = g_array_new (FALSE, FALSE, sizeof (double));
  g_autofree char *name_on = g_strconcat (name, "_on", NULL);
  g_autofree char *name_off = g_strconcat (name, "_off", NULL);

  for (guint block = N_WARM_UP; block < N_WARM_UP + 2 * N_PAIRS; block += 2)
    {
      double without = block_ms (clock, block);
      double with = block_ms (clock, block + 1);
      double ratio = with / without;

      g_array_append_val (off, without);
      g_array_append_val (on, with);
      g_array_append_val (ratios, ratio);
    }
  json_object_set_double_member (object, name_on, median (on));
  json_object_set_double_member (object, name_off, median (off));
  json_object_set_double_member (object, overhead, median (ratios) - 1);
}

JsonObject *
gradus_bench_recording (GError **error)
{
  g_autofree char *folder = g_dir_make_tmp ("gradus-bench-XXXXXX", error);
  g_autoptr (GArray) wall = g_array_new (FALSE, FALSE, sizeof (double));
  g_autoptr (GArray) cpu = g_array_new (FALSE, FALSE, sizeof (double));
  Meter       meter = { .wall = wall, .cpu = cpu };
  JsonObject *object = NULL;
  gboolean    done = FALSE;

  if (folder == NULL)
    return NULL;
  done = train_and_record (folder, &meter, error);
  remove_folder (folder);
  if (!done)
    return NULL;
  object = json_object_new ();
  json_object_set_string_member (object, "name", "recording");
  json_object_set_string_member (object, "network", "cnn");
  json_object_set_int_member (object, "steps", 2 * N_PAIRS * BLOCK);
  json_object_set_int_member (object, "histograms_every", BLOCK);
  put_overhead (object, wall, "step_ms", "overhead");
  put_overhead (object, cpu, "cpu_ms", "cpu_overhead");
  return object;
}
