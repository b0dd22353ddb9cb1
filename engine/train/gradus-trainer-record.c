/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-trainer-private.h"

#include <math.h>

static guint
series (GradusTrainer *self, GradusSeriesKind kind, const char *prefix, const char *name)
{
  g_autofree char *full = g_strconcat (prefix, name, NULL);

  return self->config.observer->funcs->series (self->config.observer, full, kind);
}

static void
open_tensor_series (GradusTrainer *self)
{
  GradusSeries *s = &self->series;

  s->weights = g_new (guint, self->train.n_gradients);
  s->gradients = g_new (guint, self->train.n_gradients);
  s->layer_norms = g_new (guint, self->layer_names->len);
  for (guint i = 0; self->options->histograms_every > 0 && i < self->train.n_gradients; i++)
    {
      s->weights[i] = series (self, GRADUS_SERIES_HISTOGRAM, "weight/", self->train.names[i]);
      s->gradients[i] = series (self, GRADUS_SERIES_HISTOGRAM, "gradient/", self->train.names[i]);
    }
  for (guint i = 0; self->options->per_layer_every > 0 && i < self->layer_names->len; i++)
    s->layer_norms[i] = series (self, GRADUS_SERIES_SCALAR, "gradient_norm/",
                                self->layer_names->pdata[i]);
}

void
gradus_trainer_open_series (GradusTrainer *self)
{
  static const char *const phases[] = { "forward", "backward", "update" };
  const GradusSeriesKind   scalar = GRADUS_SERIES_SCALAR;
  GradusSeries            *s = &self->series;

  if (self->config.observer == NULL)
    return;
  s->loss = series (self, scalar, "train/", "loss");
  s->learning_rate = series (self, scalar, "", "learning_rate");
  s->norm = series (self, scalar, "", "gradient_norm");
  s->builds = series (self, scalar, "", "builds");
  if (self->train.penalty != GRADUS_NO_VALUE)
    s->penalty = series (self, scalar, "train/", "regularization");
  s->time_step = series (self, scalar, "time/", "step");
  s->time_input = series (self, scalar, "time/", "input_wait");
  for (guint i = 0; i < 3; i++)
    s->time_phases[i] = series (self, scalar, "time/", phases[i]);
  s->time_log = series (self, scalar, "time/", "log");
  s->throughput = series (self, scalar, "", "throughput");
  s->host_current = series (self, scalar, "memory/host/", "current");
  s->host_peak = series (self, scalar, "memory/host/", "peak");
  s->device_current = series (self, scalar, "memory/device/", "current");
  s->device_peak = series (self, scalar, "memory/device/", "peak");
  s->epoch = series (self, scalar, "", "epoch");
  if (self->config.validation != NULL)
    s->validation_loss = series (self, scalar, "validation/", "loss");
  s->train = g_new0 (guint, self->train.n_scores);
  s->validation = g_new0 (guint, self->train.n_scores);
  for (guint i = 0; i < self->train.n_scores; i++)
    {
      if (self->train.scores[i].hidden)
        continue;
      s->train[i] = series (self, scalar, "train/", self->train.scores[i].name);
      if (self->config.validation != NULL)
        s->validation[i] = series (self, scalar, "validation/", self->train.scores[i].name);
    }
  open_tensor_series (self);
}

static void
put (GradusTrainer *self, guint handle, double value)
{
  self->config.observer->funcs->scalar (self->config.observer, handle, self->step, value);
}

static gsize
variable_count (GradusTrainer *self, const char *name, guint *index)
{
  GradusVariableRole role;
  GradusValueType    type;

  gradus_variables_find (self->variables, name, index);
  gradus_variables_name (self->variables, *index, &role, &type);
  return gradus_shape_count (&type.shape);
}

static gboolean
record_histograms (GradusTrainer *self, GError **error)
{
  GradusObserver       *observer = self->config.observer;
  GradusTensorHistogram histogram;

  for (guint i = 0; i < self->train.n_gradients; i++)
    {
      guint index;
      gsize n = variable_count (self, self->train.names[i], &index);

      if (!gradus_variables_read (self->variables, index, self->host, n * sizeof (float), error))
        return FALSE;
      gradus_tensor_histogram (&histogram, self->host, n);
      observer->funcs->histogram (observer, self->series.weights[i], self->step,
                                  &histogram.histogram);
      if (!gradus_execution_read (self->train_execution, self->train.gradients[i], self->host,
                                  n * sizeof (float), error))
        return FALSE;
      gradus_tensor_histogram (&histogram, self->host, n);
      observer->funcs->histogram (observer, self->series.gradients[i], self->step,
                                  &histogram.histogram);
    }
  return TRUE;
}

static gboolean
record_layer_norms (GradusTrainer *self, GError **error)
{
  double *sums = self->layer_squares;

  for (guint i = 0; i < self->layer_names->len; i++)
    sums[i] = 0;
  for (guint i = 0; i < self->train.n_gradients; i++)
    {
      float square;

      if (!gradus_execution_read (self->train_execution, self->train.squares[i], &square,
                                  sizeof square, error))
        return FALSE;
      sums[self->layer_of[i]] += square;
    }
  for (guint i = 0; i < self->layer_names->len; i++)
    put (self, self->series.layer_norms[i], sqrt (sums[i]));
  return TRUE;
}

/* The first step too, so that every curve begins at its beginning. */
static gboolean
is_due (GradusTrainer *self, gint64 every)
{
  return every > 0 && (self->step % every == 0 || self->step == 1);
}

double
gradus_trainer_live_value (GradusTrainer *self, const char *name)
{
  for (guint i = 0; i < self->hypers->len; i++)
    {
      GradusHyper *hyper = &g_array_index (self->hypers, GradusHyper, i);

      if (g_str_equal (hyper->name, name))
        return gradus_execution_get_hyper (self->train_execution, hyper->id);
    }
  return NAN;
}

static void
record_scalars (GradusTrainer *self, const GradusStepResult *result, gint64 begun)
{
  GradusSeries      *s = &self->series;
  GradusDeviceMemory device = self->config.device->funcs->memory (self->config.device);
  gint64             now;
  double             seconds;

  gradus_process_memory_sample (&self->process, begun);
  put (self, s->loss, result->loss);
  for (guint i = 0; i < self->train.n_scores; i++)
    if (self->train.scores[i].metric == NULL && !self->train.scores[i].hidden)
      put (self, s->train[i], gradus_score_result (&self->train.scores[i], self->train.batch_sums));
  put (self, s->learning_rate, gradus_trainer_live_value (self, "learning_rate"));
  put (self, s->norm, result->norm);
  if (self->train.penalty != GRADUS_NO_VALUE)
    put (self, s->penalty, result->penalty);
  put (self, s->time_input, result->input_wait);
  for (guint i = 0; i < 3; i++)
    put (self, s->time_phases[i], result->phases[i]);
  put (self, s->host_current, self->process.current);
  put (self, s->host_peak, self->process.peak);
  put (self, s->device_current, device.current);
  put (self, s->device_peak, device.peak);
  now = g_get_monotonic_time ();
  seconds = (now - result->begun) / 1e6;
  put (self, s->time_log, (now - begun) / 1e6);
  put (self, s->time_step, seconds);
  put (self, s->throughput, seconds > 0 ? result->n / seconds : NAN);
}

/* Each build of kernels, with its reason. */
static void
record_builds (GradusTrainer *self)
{
  guint            builds = gradus_execution_builds (self->train_execution);
  GradusSizes      sizes;
  const char      *reason;
  g_autofree char *data = NULL;

  if (builds == self->builds)
    return;
  reason = gradus_execution_build_reason (self->train_execution, &sizes);
  data = g_strdup_printf ("{\"batch\": %" G_GINT64_FORMAT ", \"time\": %" G_GINT64_FORMAT ", \"builds\": %u}",
                          sizes.batch, sizes.time, builds);
  self->builds = builds;
  put (self, self->series.builds, builds);
  /* Where time is fixed there is one for the full batch and one for the short last one. */
  if (self->binding.time > 1)
    gradus_trainer_event (self, GRADUS_EVENT_MESSAGE, GRADUS_SEVERITY_NOTE, "builds", reason, data);
}

gboolean
gradus_trainer_record_step (GradusTrainer *self, const GradusStepResult *result, GError **error)
{
  gint64 begun = g_get_monotonic_time ();

  if (self->config.observer == NULL || self->mute)
    return TRUE;
  record_builds (self);
  if (is_due (self, self->options->histograms_every) && !record_histograms (self, error))
    return FALSE;
  if (is_due (self, self->options->per_layer_every) && !record_layer_norms (self, error))
    return FALSE;
  if (is_due (self, self->options->scalars_every))
    record_scalars (self, result, begun);
  return TRUE;
}

void
gradus_trainer_set_recording (GradusTrainer *self, gboolean recording)
{
  self->mute = !recording;
}

/* Of the evaluation that was just done; true classes are rows. */
static void
record_matrices (GradusTrainer *self, const char *part)
{
  GradusObserver *observer = self->config.observer;

  for (guint i = 0; i < self->evaluate.n_scores; i++)
    {
      const GradusScore *score = &self->evaluate.scores[i];
      guint              n = (guint) lround (sqrt (score->n));
      g_autofree char   *format = g_strdup_printf ("float64 %ux%u", n, n);
      g_autofree guint64 *bits = NULL;

      if (score->metric == NULL || !score->hidden)
        continue;
      bits = g_memdup2 (self->evaluated.values + score->offset, score->n * sizeof (double));
      for (guint k = 0; k < score->n; k++)
        bits[k] = GUINT64_TO_LE (bits[k]);
      observer->funcs->blob (observer, series (self, GRADUS_SERIES_MATRIX, part, score->name),
                             self->step, format, bits, score->n * sizeof (double));
    }
}

void
gradus_trainer_record_epoch (GradusTrainer *self, gboolean validated)
{
  if (self->config.observer == NULL)
    return;
  put (self, self->series.epoch, self->epoch + 1);
  /* The losses of heads stand there step by step, as that of the model does. */
  for (guint i = 0; i < self->train.n_scores; i++)
    if (self->train.scores[i].metric != NULL && !self->train.scores[i].hidden)
      put (self, self->series.train[i], self->last_train.values[i]);
  if (!validated)
    return;
  put (self, self->series.validation_loss, self->last_validation.loss);
  for (guint i = 0; i < self->train.n_scores; i++)
    if (!self->train.scores[i].hidden)
      put (self, self->series.validation[i], self->last_validation.values[i]);
  record_matrices (self, "validation/");
}

void
gradus_trainer_record_test (GradusTrainer *self)
{
  if (self->config.observer == NULL)
    return;
  put (self, series (self, GRADUS_SERIES_SCALAR, "test/", "loss"), self->last_test.loss);
  for (guint i = 0; i < self->train.n_scores; i++)
    if (!self->train.scores[i].hidden)
      put (self, series (self, GRADUS_SERIES_SCALAR, "test/", self->train.scores[i].name),
           self->last_test.values[i]);
  record_matrices (self, "test/");
}

static double
accuracy_of (GradusTrainer *self, const GradusScores *scores)
{
  return self->accuracy_score >= 0 ? scores->values[self->accuracy_score] : NAN;
}

gint64
gradus_trainer_steps (GradusTrainer *self, gint64 batches)
{
  return (batches + self->options->accumulate - 1) / self->options->accumulate;
}

void
gradus_trainer_set_progress (GradusTrainer *self, const GradusStepResult *result)
{
  GradusTrainerProgress *p = &self->progress;
  gint64                 left;

  g_mutex_lock (&self->lock);
  if (result != NULL)
    {
      double seconds = (g_get_monotonic_time () - result->begun) / 1e6;

      self->step_seconds = self->step_seconds == 0 ? seconds
                                                   : 0.98 * self->step_seconds + 0.02 * seconds;
      p->samples_per_second = self->step_seconds > 0
                                  ? self->batch_size * self->options->accumulate / self->step_seconds
                                  : NAN;
    }
  p->step = self->step;
  p->epoch = MIN (self->epoch + 1, self->options->epochs);
  p->n_epochs = self->options->epochs;
  p->step_in_epoch = gradus_trainer_steps (self, self->position);
  p->steps_per_epoch = gradus_trainer_steps (self, self->n_batches);
  left = (self->options->epochs - self->epoch) * p->steps_per_epoch - p->step_in_epoch;
  p->n_steps = self->step + MAX (0, left);
  p->seconds_left = self->step_seconds > 0 ? MAX (0, left) * self->step_seconds : -1;
  if (self->sums.samples > 0)
    {
      p->loss = self->sums.loss / self->sums.samples;
      p->accuracy = self->accuracy_score >= 0
                        ? gradus_score_result (&self->train.scores[self->accuracy_score],
                                               self->sums.values)
                        : NAN;
    }
  p->validation_loss = self->last_validation.loss;
  p->validation_accuracy = accuracy_of (self, &self->last_validation);
  p->test_loss = self->last_test.loss;
  p->test_accuracy = accuracy_of (self, &self->last_test);
  g_mutex_unlock (&self->lock);
}
