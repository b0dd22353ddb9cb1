/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/gradus-engine-bench.h"
#include "gradus-bench-recording.h"
#include "gradus-cli.h"
#include "gradus-json.h"
#include "gradus-machine.h"
#include "log/gradus-log-bench.h"

#include <glib/gi18n-lib.h>

/* Steps that are timed. */
#define MLP_STEPS 1000
#define CNN_STEPS 200

/* A training step of @name, beside the sum of the library kernels in it: what is above 1 is ours. */
static JsonObject *
bench_network (const char *name, guint steps, GError **error)
{
  g_autoptr (GradusDevice) device = gradus_device_open ("cpu", 0, error);
  GradusEngineBench result = { 0 };
  JsonObject       *object = NULL;

  if (device == NULL || !gradus_engine_bench_run (name, device, steps, &result, error))
    return NULL;
  object = json_object_new ();
  json_object_set_string_member (object, "name", name);
  json_object_set_int_member (object, "batch_size", result.batch);
  json_object_set_int_member (object, "steps", steps);
  json_object_set_double_member (object, "build_ms", result.build_ms);
  json_object_set_double_member (object, "step_ms", result.step_ms);
  json_object_set_double_member (object, "step_ms_least", result.step_min_ms);
  json_object_set_double_member (object, "forward_ms", result.forward_ms);
  json_object_set_double_member (object, "backward_ms", result.backward_ms);
  json_object_set_double_member (object, "update_ms", result.update_ms);
  json_object_set_double_member (object, "library_ms", result.library_ms);
  json_object_set_double_member (object, "ratio_to_library",
                                 result.step_min_ms / result.library_ms);
  json_object_set_double_member (object, "samples_per_second",
                                 1000.0 * (double)result.batch / result.step_ms);
  json_object_set_int_member (object, "memory",
                              result.plan.variables + result.plan.optimizer + result.memory.step
                                  + result.memory.io + result.memory.constants
                                  + result.memory.scratch);
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

static const char *const entry_names[] = { "mlp", "cnn", "transformer", "lstm", "recording", "log", NULL };

static JsonObject *
bench_entry (const char *name, double seconds, GError **error)
{
  if (g_str_equal (name, "mlp"))
    return bench_network (name, MLP_STEPS, error);
  if (g_str_equal (name, "cnn") || g_str_equal (name, "transformer") || g_str_equal (name, "lstm"))
    return bench_network (name, CNN_STEPS, error);
  return g_str_equal (name, "log") ? bench_log (seconds, error) : gradus_bench_recording (error);
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
          _ ("NAME: mlp, cnn and transformer (a training step), recording (what recording adds to "
             "it), log (records per second).")))
    return GRADUS_CLI_REFUSED;
  if (argc > 1 && !g_strv_contains (entry_names, argv[1]))
    {
      gradus_cli_complain (_ ("There is no benchmark “%s”; there are mlp, cnn, transformer, lstm, recording and log."),
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
