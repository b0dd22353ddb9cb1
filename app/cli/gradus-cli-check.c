/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-cli.h"
#include "gradus-summary.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>

static void
print_layers (GradusSummary *summary)
{
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func ((GDestroyNotify)g_strfreev);

  g_print (_ ("Model: “%s”\n"), summary->model_name);
  gradus_cli_add_row (rows, _ ("Layer"), _ ("Type"), _ ("Output shape"), _ ("Parameters"), _ ("Memory"), NULL);
  for (guint i = 0; i < summary->layers->len; i++)
    {
      GradusSummaryLayer *layer = g_ptr_array_index (summary->layers, i);
      g_autofree char    *parameters = g_strdup_printf ("%" G_GINT64_FORMAT, layer->parameters);
      g_autofree char    *memory = gradus_cli_size (layer->bytes);

      gradus_cli_add_row (rows, layer->name, layer->class_name, layer->output_shape, parameters, memory, NULL);
    }
  gradus_cli_table (rows, "lllrr");
  g_print (_ ("Parameters: %" PRId64 ", of which trainable: %" PRId64 "\n\n"), summary->parameters,
           summary->trainable);
}

static void
print_parts (GradusSummary *summary)
{
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func ((GDestroyNotify)g_strfreev);

  gradus_cli_add_row (rows, _ ("Data"), _ ("Samples"), _ ("Batches"), _ ("Inputs"), _ ("Targets"), NULL);
  for (guint i = 0; i < summary->parts->len; i++)
    {
      GradusSummaryPart *part = g_ptr_array_index (summary->parts, i);
      g_autofree char   *samples = g_strdup_printf ("%" G_GINT64_FORMAT, part->n_samples);
      g_autofree char   *batches = g_strdup_printf ("%" G_GINT64_FORMAT, part->n_batches);

      gradus_cli_add_row (rows, part->name, samples, batches, part->inputs, part->targets, NULL);
    }
  gradus_cli_table (rows, "lrrll");
  if (summary->n_classes > 0)
    g_print (_ ("Classes: %u\n"), summary->n_classes);
  g_print ("\n");
}

static int
print_memory (GradusSummary *summary)
{
  g_autofree char *peak = gradus_cli_size (summary->peak_bytes);
  g_autofree char *device = gradus_cli_size (summary->device_bytes);
  g_autofree char *data = gradus_cli_size (summary->data_bytes);
  g_autofree char *available = gradus_cli_size (summary->free_bytes);
  g_autofree char *bound = gradus_cli_size (summary->lower_bound);

  g_print (_ ("Training: %" PRId64 " epochs of %" PRId64 " steps, batch size %" PRId64 "\n"),
           summary->epochs, summary->steps_per_epoch, summary->batch_size);
  g_print (_ ("Memory: %s at most (network %s, data %s); free: %s\n"), peak, device, data,
           available);
  g_print (_ ("Step: no plan of its values could do with less than %s\n"), bound);
  if (summary->price > 0)
    g_print (_ ("Rematerialised: %.1f %% of a step's work is done twice\n"), 100 * summary->price);
  if (summary->over_budget != NULL)
    {
      gradus_cli_complain ("%s", summary->over_budget);
      return GRADUS_CLI_REFUSED;
    }
  if (summary->peak_bytes > summary->free_bytes)
    {
      if (summary->largest_batch > 0)
        gradus_cli_complain (
            _ ("The run would not fit into memory. A batch size of %" PRId64 " would."),
            summary->largest_batch);
      else
        gradus_cli_complain (
            _ ("The run would need %s of memory, but %s are free, and no batch size would fit. "
               "Use a smaller model or less data, or close other programs."),
            peak, available);
      for (guint i = 0; i < summary->remedies->len; i++)
        gradus_cli_complain ("%s", (const char *) summary->remedies->pdata[i]);
      return GRADUS_CLI_REFUSED;
    }
  if (summary->warning != NULL)
    g_print ("%s\n", _ (summary->warning));
  g_print (_ ("Largest batch size that fits: %" PRId64 "\n"), summary->largest_batch);
  return GRADUS_CLI_DONE;
}

int
gradus_cli_check (int argc, char **argv)
{
  g_auto (GStrv) assignments = NULL;
  const GOptionEntry entries[] = { { "set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &assignments,
                                     N_ ("Set a value of the recipe, such as fit.epochs=3"),
                                     N_ ("PATH=VALUE") },
                                   { NULL } };
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusRecipe) recipe = NULL;
  g_autoptr (GradusSummary) summary = NULL;

  if (!gradus_cli_parse (&argc, &argv, entries, "RECIPE.json", 1, 1,
                         _ ("Shows the model's layers, the data and the memory that training would "
                            "take."),
                         NULL))
    return GRADUS_CLI_REFUSED;
  recipe = gradus_recipe_load (argv[1], &error);
  if (recipe == NULL)
    return gradus_cli_refuse (error);
  for (guint i = 0; assignments != NULL && assignments[i] != NULL; i++)
    if (!gradus_recipe_assign (recipe, assignments[i], &error))
      return gradus_cli_refuse (error);
  summary = gradus_summary_new (recipe, &error);
  if (summary == NULL)
    return gradus_cli_refuse (error);
  print_layers (summary);
  print_parts (summary);
  return print_memory (summary);
}
