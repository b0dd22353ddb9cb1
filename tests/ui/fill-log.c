/* SPDX-License-Identifier: Apache-2.0 */

/* Fills a workspace with plausible runs, through the recorder, for tests and benchmarks of the
 * window. The curves are made up; everything else is as a training run would leave it.
 *
 *   fill-log [--live] WORKSPACE RUNS STEPS [RECIPE.json]
 *
 * --live goes on writing a last run, 20 steps a second, until it is killed. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gradus-recipe.h"
#include "log/gradus-recorder.h"
#include "log/gradus-run.h"

#define BINS 40

typedef struct
{
  GradusWorkspace *workspace;
  GradusRecorder  *recorder;
  GradusRecipe    *recipe;
  GRand           *rand;
  gint64           steps_per_epoch;
} Filler;

static double
noise (Filler *filler)
{
  double sum = 0;

  for (int i = 0; i < 6; i++)
    sum += g_rand_double (filler->rand) - 0.5;

  return sum;
}

/* A bell of width @sigma whose middle wanders. */
static void
add_histogram (GradusObserver *observer, guint series, gint64 step, double sigma, double middle)
{
  double edges[BINS + 1], counts[BINS];
  GradusHistogram histogram = { 0 };

  for (int i = 0; i <= BINS; i++)
    edges[i] = -0.2 + 0.4 * i / BINS;
  for (int i = 0; i < BINS; i++)
    {
      double x = (edges[i] + edges[i + 1]) / 2 - middle;

      counts[i] = floor (20000 * exp (-x * x / (2 * sigma * sigma)));
      histogram.count += (gint64) counts[i];
    }
  histogram.min = -0.2;
  histogram.max = 0.2;
  histogram.mean = middle;
  histogram.stddev = sigma;
  histogram.n = BINS;
  histogram.edges = edges;
  histogram.counts = counts;
  observer->funcs->histogram (observer, series, step, &histogram);
}

typedef struct
{
  guint loss, accuracy, validation_loss, validation_accuracy, rate, norm, throughput, epoch;
  guint memory, memory_peak, step_time, wait, forward, backward, update, log;
  guint weights, bias, gradient;
} SeriesSet;

static SeriesSet
make_series (GradusObserver *o)
{
#define S(name) o->funcs->series (o, name, GRADUS_SERIES_SCALAR)
#define H(name) o->funcs->series (o, name, GRADUS_SERIES_HISTOGRAM)
  SeriesSet set = {
    .loss = S ("train/loss"),
    .accuracy = S ("train/accuracy"),
    .validation_loss = S ("validation/loss"),
    .validation_accuracy = S ("validation/accuracy"),
    .rate = S ("learning_rate"),
    .norm = S ("gradient_norm"),
    .throughput = S ("throughput"),
    .epoch = S ("epoch"),
    .memory = S ("memory/device/current"),
    .memory_peak = S ("memory/device/peak"),
    .step_time = S ("time/step"),
    .wait = S ("time/input_wait"),
    .forward = S ("time/forward"),
    .backward = S ("time/backward"),
    .update = S ("time/update"),
    .log = S ("time/log"),
    .weights = H ("weight/dense/kernel"),
    .bias = H ("weight/dense/bias"),
    .gradient = H ("gradient/dense/kernel"),
  };
#undef S
#undef H

  return set;
}

typedef struct
{
  double floor, speed, overfit, rate;
} Shape;

static void
add_step (Filler *filler, GradusObserver *o, const SeriesSet *s, const Shape *shape, gint64 step)
{
  double epochs = (double) step / filler->steps_per_epoch;
  double base = shape->floor + 2.0 * exp (-shape->speed * epochs) / (1 + epochs);
  double loss = base * (1 + 0.15 * noise (filler)) - 0.03 * epochs * shape->overfit;

#define PUT(series, value) o->funcs->scalar (o, series, step, value)
  PUT (s->loss, MAX (loss, 0.01));
  PUT (s->accuracy, CLAMP (1 - 0.35 * loss + 0.01 * noise (filler), 0, 1));
  PUT (s->rate, step < filler->steps_per_epoch ? shape->rate * step / filler->steps_per_epoch
                                               : shape->rate);
  PUT (s->norm, 0.5 + exp (-epochs) + 0.2 * fabs (noise (filler)));
  PUT (s->throughput, 7850 + 200 * noise (filler));
  PUT (s->memory, step % 97 == 0 ? 212e6 : 190e6);
  PUT (s->memory_peak, 212e6);
  PUT (s->step_time, 0.00798);
  PUT (s->wait, 0.00016);
  PUT (s->forward, 0.00277 + 1e-4 * noise (filler));
  PUT (s->backward, 0.00448 + 1e-4 * noise (filler));
  PUT (s->update, 0.00065);
  PUT (s->log, 0.00008);
  if (step % MAX (filler->steps_per_epoch / 4, 1) == 0)
    {
      add_histogram (o, s->weights, step, 0.03 + 0.01 * MIN (epochs, 3), -0.003);
      add_histogram (o, s->bias, step, 0.015, 0.02 * MIN (epochs, 3));
      add_histogram (o, s->gradient, step, 0.05 / (1 + epochs), 0);
    }
  if (step % filler->steps_per_epoch == 0)
    {
      double validation = base + 0.02 + 0.01 * shape->overfit * MAX (0, epochs - 3);

      PUT (s->epoch, epochs);
      PUT (s->validation_loss, validation);
      PUT (s->validation_accuracy, 1 - 0.36 * validation);
    }
#undef PUT
}

static GradusObserver *
begin (Filler *filler, const char *name, gint64 *run)
{
  g_autofree char *recipe = filler->recipe != NULL ? gradus_recipe_to_json (filler->recipe, FALSE)
                                                   : NULL;
  GradusRunSpec spec = { .name = name, .unique_name = TRUE, .status = GRADUS_RUN_QUEUED,
                         .recipe = recipe, .seed = 42 };
  g_autoptr (GError) error = NULL;
  GradusObserver *observer = NULL;

  *run = gradus_run_create (filler->workspace, &spec, NULL, NULL, &error);
  if (*run != 0)
    observer = gradus_recorder_attach (filler->recorder, *run, NULL, NULL, NULL, &error);
  if (observer == NULL)
    g_error ("%s", error->message);
  observer->funcs->status (observer, 0, GRADUS_RUN_RUNNING, "");

  return observer;
}

static void
fill_run (Filler *filler, guint number, gint64 steps)
{
  static const char *const families[] = { "cnn", "mlp", "res" };
  g_autofree char *name = g_strdup_printf ("%s-%u", families[number % 3], number / 3 + 1);
  Shape shape = { 0.2 + 0.1 * g_rand_double (filler->rand), 0.5 + g_rand_double (filler->rand),
                  g_rand_double (filler->rand), 1e-3 };
  gboolean failed = number % 7 == 5;
  gint64 run;
  GradusObserver *observer = begin (filler, name, &run);
  SeriesSet set = make_series (observer);

  for (gint64 step = 1; step <= steps; step++)
    add_step (filler, observer, &set, &shape, step);
  if (failed)
    {
      observer->funcs->scalar (observer, set.loss, steps + 1, NAN);
      observer->funcs->event (observer, steps + 1, GRADUS_EVENT_FINDING, GRADUS_SEVERITY_ERROR,
                              "loss", "The loss is not a number", NULL);
    }
  else if (number % 5 == 1)
    observer->funcs->event (observer, steps / 2, GRADUS_EVENT_FINDING, GRADUS_SEVERITY_WARNING,
                            "overfitting",
                            "Overfitting. Validation loss has risen while training loss falls.",
                            NULL);
  if (number % 4 == 0)
    observer->funcs->event (observer, steps / 3, GRADUS_EVENT_INTERVENTION, GRADUS_SEVERITY_NOTE,
                            "learning_rate", "Learning rate set to 5.0e-4", NULL);
  observer->funcs->status (observer, steps,
                           failed ? GRADUS_RUN_FAILED : GRADUS_RUN_FINISHED, "");
  gradus_recorder_detach (filler->recorder, observer);
}

static void
write_live (Filler *filler)
{
  const Shape shape = { 0.2, 0.8, 0.5, 1e-3 };
  gint64 run;
  GradusObserver *observer = begin (filler, "live", &run);
  SeriesSet set = make_series (observer);

  for (gint64 step = 1;; step++)
    {
      add_step (filler, observer, &set, &shape, step);
      g_usleep (50000);
    }
}

int
main (int argc, char **argv)
{
  gboolean live = argc > 1 && g_str_equal (argv[1], "--live");
  char **args = argv + 1 + live;
  int n_args = argc - 1 - live;
  g_autoptr (GError) error = NULL;
  Filler filler = { 0 };
  gint64 n_runs, steps;

  if (n_args < 3)
    {
      g_printerr ("Usage: fill-log [--live] WORKSPACE RUNS STEPS [RECIPE.json]\n");
      return 2;
    }
  n_runs = g_ascii_strtoll (args[1], NULL, 10);
  steps = g_ascii_strtoll (args[2], NULL, 10);
  filler.rand = g_rand_new_with_seed (42);
  filler.steps_per_epoch = MAX (steps / 5, 1);
  if (n_args > 3)
    filler.recipe = gradus_recipe_load (args[3], &error);
  if (error == NULL)
    filler.workspace = gradus_workspace_open (args[0], GRADUS_WORKSPACE_CREATE, &error);
  if (filler.workspace != NULL)
    filler.recorder = gradus_recorder_new (filler.workspace, 0, NULL, NULL, &error);
  if (filler.recorder == NULL)
    {
      g_printerr ("%s\n", error->message);
      return 1;
    }

  for (gint64 i = 0; i < n_runs; i++)
    fill_run (&filler, (guint) i, steps);
  if (live)
    write_live (&filler);

  gradus_recorder_free (filler.recorder);
  gradus_workspace_unref (filler.workspace);
  g_clear_object (&filler.recipe);
  g_rand_free (filler.rand);

  return 0;
}
