/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-bench-source.h"
#include "gradus-cli.h"
#include "gradus-json.h"
#include "gradus-machine.h"
#include "log/gradus-log-bench.h"
#include "log/gradus-recorder.h"
#include "log/gradus-run.h"
#include "train/gradus-trainer.h"

#include <glib/gi18n-lib.h>
#include <string.h>

/* Steps of the first medians are left out: caches, clocks and kernels warm up. */
#define WARM_UP 20
#define BATCH 64

/* Networks ------------------------------------------------------------------------------------ */

#define INPUT(SHAPE)                                                                               \
  "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, " SHAPE "],"              \
  " \"dtype\": \"float32\", \"name\": \"image\"}},"
#define DENSE(NAME, UNITS, ACTIVATION)                                                             \
  "{\"class_name\": \"Dense\", \"config\": {\"name\": \"" NAME "\", \"units\": " UNITS ","         \
  " \"activation\": \"" ACTIVATION "\"}}"
#define CONV(NAME, FILTERS)                                                                        \
  "{\"class_name\": \"Conv2D\", \"config\": {\"name\": \"" NAME "\", \"filters\": " FILTERS ","    \
  " \"kernel_size\": [3, 3], \"activation\": \"relu\"}},"
#define MODEL(LAYERS)                                                                              \
  "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"bench\", \"layers\": [" LAYERS "]}}"

typedef struct
{
  const char *name;
  const char *model;
  guint       rank;
  gint64      dims[3];
  gint64      steps;
} Network;

static const Network networks[] = {
  { "mlp",
    MODEL (INPUT ("784") DENSE ("dense", "256", "relu") "," DENSE ("classes", "10", "softmax")),
    1,
    { 784 },
    2000 },
  { "cnn",
    MODEL (INPUT ("28, 28, 1") CONV ("conv2d", "32") CONV (
        "conv2d_1",
        "64") "{\"class_name\": \"MaxPooling2D\", \"config\": {\"name\": \"pool\","
              " \"pool_size\": [2, 2]}},"
              "{\"class_name\": \"Flatten\", \"config\": {\"name\": \"flatten\"}}," DENSE (
                  "dense",
                  "128",
                  "relu") "," DENSE ("classes", "10", "softmax")),
    3,
    { 28, 28, 1 },
    400 },
};

static JsonObject *
parse_object (const char *text)
{
  g_autoptr (JsonNode) node = gradus_json_parse (text, -1, "bench", NULL);

  return json_node_dup_object (node);
}

/* Trains @network for its steps. */
static gboolean
train_network (const Network *network, GradusObserver *observer, GArray *times, GError **error)
{
  g_autoptr (JsonObject) json = parse_object (network->model);
  g_autoptr (JsonObject) compile = parse_object (
      "{\"optimizer\": {\"class_name\": \"Adam\", \"config\": {\"learning_rate\": 0.001}},"
      " \"loss\": \"sparse_categorical_crossentropy\", \"metrics\": [\"accuracy\"]}");
  g_autoptr (JsonObject) fit = parse_object ("{\"epochs\": 1}");
  g_autoptr (GradusModel) model = gradus_model_new_from_json (json, "bench", "", error);
  g_autoptr (GradusTrainerOptions) options =
      model != NULL ? gradus_trainer_options_new (compile, fit, NULL, NULL, "bench", NULL, error)
                    : NULL;
  g_autoptr (GradusDevice) device = options != NULL ? gradus_device_open ("cpu", 0, error) : NULL;
  g_autoptr (GradusTrainer) trainer = NULL;
  GradusBatchSource  *source = NULL;
  GradusTrainerConfig config = { 0 };
  gboolean            done = FALSE;

  if (device == NULL)
    return FALSE;
  source = gradus_bench_source_new (network->rank, network->dims, BATCH, network->steps, times);
  config.model = model;
  config.options = options;
  config.device = device;
  config.train = source;
  config.observer = observer;
  config.seed = 1;
  trainer = gradus_trainer_new (&config, error);
  done = trainer != NULL && gradus_trainer_run (trainer, error) == GRADUS_RUN_FINISHED;
  g_clear_pointer (&trainer, gradus_trainer_free);
  source->funcs->free (source);
  return done;
}

/* Statistics ---------------------------------------------------------------------------------- */

static int
compare_doubles (gconstpointer a, gconstpointer b)
{
  double x = *(const double *)a;
  double y = *(const double *)b;

  return (x > y) - (x < y);
}

static double
quantile (GArray *sorted, double q)
{
  return sorted->len > 0 ? g_array_index (sorted, double, (guint)(q * (sorted->len - 1) + 0.5)) : 0;
}

static double
mean (GArray *values)
{
  double sum = 0;

  for (guint i = 0; i < values->len; i++)
    sum += g_array_index (values, double, i);
  return values->len > 0 ? sum / values->len : 0;
}

/* Milliseconds from call to call of next(). */
static GArray *
intervals (GArray *times)
{
  GArray *result = g_array_new (FALSE, FALSE, sizeof (double));

  for (guint i = 1; i < times->len; i++)
    {
      double ms =
          (double)(g_array_index (times, gint64, i) - g_array_index (times, gint64, i - 1)) / 1e6;

      g_array_append_val (result, ms);
    }
  return result;
}

/* Entries -------------------------------------------------------------------------------------- */

static JsonObject *
bench_network (const Network *network, GError **error)
{
  g_autoptr (GArray) times = g_array_new (FALSE, FALSE, sizeof (gint64));
  g_autoptr (GArray) steps = NULL;
  JsonObject *object = NULL;

  if (!train_network (network, NULL, times, error))
    return NULL;
  steps = intervals (times);
  g_array_remove_range (steps, 0, MIN (WARM_UP, steps->len));
  g_array_sort (steps, compare_doubles);
  object = json_object_new ();
  json_object_set_string_member (object, "name", network->name);
  json_object_set_int_member (object, "batch_size", BATCH);
  json_object_set_int_member (object, "steps", steps->len);
  json_object_set_double_member (object, "step_ms", quantile (steps, 0.5));
  json_object_set_double_member (object, "step_ms_p10", quantile (steps, 0.1));
  json_object_set_double_member (object, "step_ms_p90", quantile (steps, 0.9));
  json_object_set_double_member (object, "samples_per_second",
                                 1000.0 * BATCH / quantile (steps, 0.5));
  return object;
}

static JsonObject *
bench_log (double seconds, GError **error)
{
  GradusLogBench result = { 0 };
  JsonObject    *object = NULL;

  if (!gradus_log_bench (NULL, seconds, 50, &result, error))
    return NULL;
  object = json_object_new ();
  json_object_set_string_member (object, "name", "log");
  json_object_set_int_member (object, "series", 50);
  json_object_set_double_member (object, "seconds", result.seconds);
  json_object_set_double_member (object, "records_per_second", result.records_per_s);
  json_object_set_int_member (object, "records", (gint64)result.records);
  json_object_set_int_member (object, "dropped", (gint64)result.dropped);
  json_object_set_double_member (object, "bytes_per_scalar", result.bytes_per_scalar);
  json_object_set_double_member (object, "ns_per_record", result.ns_per_record);
  json_object_set_int_member (object, "waits", (gint64)result.waits);
  json_object_set_double_member (object, "longest_commit_ms", result.longest_commit_ms);
  json_object_set_double_member (object, "longest_read_ms", result.longest_read_ms);
  return object;
}

/* Recording ------------------------------------------------------------------------------------ */

/* Steps of one kind in a row: long enough for the recorder's commits to fall into their own. */
#define BLOCK 25

/* Hands on to @inner in every second block of steps, and says nothing to it in the others. */
typedef struct
{
  GradusObserver  observer;
  GradusObserver *inner;
} Switch;

#define INNER(observer) (((Switch *)(observer))->inner)

static gboolean
is_on (gint64 step)
{
  return (step / BLOCK) % 2 == 1;
}

static guint
switch_series (GradusObserver *self, const char *name, GradusSeriesKind kind)
{
  return INNER (self)->funcs->series (INNER (self), name, kind);
}

static void
switch_scalar (GradusObserver *self, guint series, gint64 step, double value)
{
  if (is_on (step))
    INNER (self)->funcs->scalar (INNER (self), series, step, value);
}

static void
switch_histogram (GradusObserver *self, guint series, gint64 step, const GradusHistogram *histogram)
{
  if (is_on (step))
    INNER (self)->funcs->histogram (INNER (self), series, step, histogram);
}

static void
switch_event (GradusObserver *self,
              gint64          step,
              GradusEventKind kind,
              GradusSeverity  severity,
              const char     *subject,
              const char     *message,
              const char     *data)
{
  INNER (self)->funcs->event (INNER (self), step, kind, severity, subject, message, data);
}

static void
switch_status (GradusObserver *self, gint64 step, GradusRunStatus status, const char *message)
{
  INNER (self)->funcs->status (INNER (self), step, status, message);
}

static void
switch_command_taken (GradusObserver *self, gint64 id, gint64 step, const char *error)
{
  INNER (self)->funcs->command_taken (INNER (self), id, step, error);
}

static void
switch_checkpoint (GradusObserver *self, const GradusCheckpointInfo *info)
{
  INNER (self)->funcs->checkpoint (INNER (self), info);
}

static void
switch_checkpoint_removed (GradusObserver *self, gint64 step)
{
  INNER (self)->funcs->checkpoint_removed (INNER (self), step);
}

static const GradusObserverFuncs switch_funcs = {
  .series = switch_series,
  .scalar = switch_scalar,
  .histogram = switch_histogram,
  .event = switch_event,
  .status = switch_status,
  .command_taken = switch_command_taken,
  .checkpoint = switch_checkpoint,
  .checkpoint_removed = switch_checkpoint_removed,
};

static gboolean
record_network (const Network *network, const char *folder, GArray *times, GError **error)
{
  g_autoptr (GradusWorkspace) workspace =
      gradus_workspace_open (folder, GRADUS_WORKSPACE_CREATE, error);
  g_autoptr (GradusRecorder) recorder =
      workspace != NULL ? gradus_recorder_new (workspace, 0, NULL, NULL, error) : NULL;
  GradusRunSpec spec = { .name = "bench", .status = GRADUS_RUN_QUEUED };
  Switch        self = { { &switch_funcs }, NULL };
  gint64        run = 0;
  gboolean      done = FALSE;

  if (recorder == NULL)
    return FALSE;
  run = gradus_run_create (workspace, &spec, NULL, NULL, error);
  if (run == 0)
    return FALSE;
  self.inner = gradus_recorder_attach (recorder, run, NULL, NULL, NULL, error);
  if (self.inner == NULL)
    return FALSE;
  done = train_network (network, &self.observer, times, error);
  gradus_recorder_detach (recorder, self.inner);
  return done;
}

static void
remove_workspace (const char *folder)
{
  g_autoptr (GFile) file = g_file_new_for_path (folder);
  g_autoptr (GFileEnumerator) children = g_file_enumerate_children (
      file, G_FILE_ATTRIBUTE_STANDARD_NAME, G_FILE_QUERY_INFO_NOFOLLOW_SYMLINKS, NULL, NULL);
  GFile *child = NULL;

  while (children != NULL && g_file_enumerator_iterate (children, NULL, &child, NULL, NULL)
         && child != NULL)
    remove_workspace (g_file_peek_path (child));
  g_file_delete (file, NULL, NULL);
}

static JsonObject *
bench_recording (GError **error)
{
  Network          network = networks[1];
  g_autofree char *folder = g_dir_make_tmp ("gradus-bench-XXXXXX", error);
  g_autoptr (GArray) times = g_array_new (FALSE, FALSE, sizeof (gint64));
  g_autoptr (GArray) steps = NULL;
  g_autoptr (GArray) on = g_array_new (FALSE, FALSE, sizeof (double));
  g_autoptr (GArray) off = g_array_new (FALSE, FALSE, sizeof (double));
  JsonObject *object = NULL;
  gboolean    done = FALSE;

  if (folder == NULL)
    return NULL;
  network.steps = 40 * BLOCK;
  done = record_network (&network, folder, times, error);
  remove_workspace (folder);
  if (!done)
    return NULL;
  steps = intervals (times);
  for (guint i = 2 * BLOCK; i < steps->len; i++)
    {
      double ms = g_array_index (steps, double, i);

      /* Interval i is that of step i + 1. */
      g_array_append_val (is_on (i + 1) ? on : off, ms);
    }
  g_array_sort (on, compare_doubles);
  g_array_sort (off, compare_doubles);
  object = json_object_new ();
  json_object_set_string_member (object, "name", "recording");
  json_object_set_string_member (object, "network", network.name);
  json_object_set_int_member (object, "steps", on->len + off->len);
  json_object_set_double_member (object, "step_ms_on", quantile (on, 0.5));
  json_object_set_double_member (object, "step_ms_off", quantile (off, 0.5));
  json_object_set_double_member (object, "mean_ms_on", mean (on));
  json_object_set_double_member (object, "mean_ms_off", mean (off));
  json_object_set_double_member (
      object, "overhead",
      quantile (off, 0.5) > 0 ? quantile (on, 0.5) / quantile (off, 0.5) - 1 : 0);
  return object;
}

/* ---------------------------------------------------------------------------------------------- */

static const char *const entry_names[] = { "mlp", "cnn", "recording", "log", NULL };

static JsonObject *
bench_entry (const char *name, double seconds, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (networks); i++)
    if (g_str_equal (networks[i].name, name))
      return bench_network (&networks[i], error);
  return g_str_equal (name, "log") ? bench_log (seconds, error) : bench_recording (error);
}

static int
print_results (JsonArray *results)
{
  g_autoptr (JsonNode) node = json_node_new (JSON_NODE_OBJECT);
  JsonObject      *object = json_object_new ();
  g_autofree char *text = NULL;

  json_object_set_object_member (object, "machine", gradus_machine_describe ());
  json_object_set_array_member (object, "results", results);
  json_node_take_object (node, object);
  text = gradus_json_to_string (node, TRUE);
  g_print ("%s\n", text);
  return GRADUS_CLI_DONE;
}

int
gradus_cli_bench (int argc, char **argv)
{
  double             seconds = 5;
  const GOptionEntry entries[] = {
    { "seconds", 0, 0, G_OPTION_ARG_DOUBLE, &seconds, N_ ("How long to write into the log"),
      N_ ("SECONDS") },
    { NULL },
  };
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonArray) results = NULL;

  if (!gradus_cli_parse (
          &argc, &argv, entries, "[NAME]", 0, 1,
          _ ("Runs the benchmarks and prints JSON with a description of the machine. "
             "Let nothing else run meanwhile."),
          _ ("NAME: mlp and cnn (a training step), recording (what recording adds to "
             "it), log (records per second).")))
    return GRADUS_CLI_REFUSED;
  if (argc > 1 && !g_strv_contains (entry_names, argv[1]))
    {
      gradus_cli_complain (_ ("There is no benchmark “%s”; there are mlp, cnn, recording and log."),
                           argv[1]);
      return GRADUS_CLI_REFUSED;
    }
  if (!(seconds > 0 && seconds <= 3600))
    {
      gradus_cli_complain (_ ("--seconds must be above 0 and at most 3600."));
      return GRADUS_CLI_REFUSED;
    }
  results = json_array_new ();
  for (guint i = 0; entry_names[i] != NULL; i++)
    {
      JsonObject *object = NULL;

      if (argc > 1 && !g_str_equal (argv[1], entry_names[i]))
        continue;
      object = bench_entry (entry_names[i], seconds, &error);
      if (object == NULL)
        return gradus_cli_fail (error);
      json_array_add_object_element (results, object);
    }
  return print_results (g_steal_pointer (&results));
}
