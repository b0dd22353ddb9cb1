/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-compile.h"

#include "passes/gradus-passes.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>

static gint64
spec_count (const GradusArraySpec *spec)
{
  gint64 count = 1;

  for (guint i = 0; i < spec->rank; i++)
    count *= spec->dims[i];
  return count;
}

static char *
spec_to_string (const GradusArraySpec *spec)
{
  GradusShape shape = { .rank = MIN (spec->rank + 1, GRADUS_MAX_RANK), .dims = { GRADUS_DIM_BATCH } };

  for (guint i = 1; i < shape.rank; i++)
    shape.dims[i] = spec->dims[i - 1];
  return gradus_shape_to_string (&shape);
}

static gboolean
bind_input (GradusBinding *binding, GradusModel *model, guint i, const GradusArraySpec *specs, guint n, GError **error)
{
  GradusShape      shape, one;
  const char      *name = gradus_model_input (model, i, &shape, NULL);
  g_autofree char *wanted = NULL, *met = NULL;
  guint            s = 0;
  gint64           steps = 1;

  while (n > 1 && s < n && !g_str_equal (specs[s].name, name))
    s++;
  if (s == n)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _("The model's input “%s” is not in the data. Name it in the recipe's inputs."),
                   name);
      return FALSE;
    }
  binding->order[i] = s;
  binding->dtypes[i] = specs[s].dtype;
  if (gradus_shape_has_time (&shape))
    {
      steps = specs[s].rank > 0 ? specs[s].dims[0] : 1;
      binding->lengthens = binding->lengthens && gradus_model_time_padding (model, i, &binding->padding[i]);
      if (binding->time > 1 && steps != binding->time)
        {
          g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                               _("The model's sequences have different numbers of steps. Give all inputs whose "
                                 "length is free the same one."));
          return FALSE;
        }
      binding->time = MAX (1, steps);
    }
  one = gradus_shape_bind (&shape, gradus_sizes (1, steps));
  if (spec_count (&specs[s]) == gradus_shape_count (&one))
    return TRUE;
  wanted = gradus_shape_to_string (&shape);
  met = spec_to_string (&specs[s]);
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
               _ ("The model's input “%s” has shape %s, but the data “%s” has %s: %" PRId64
                  " numbers a sample against %" PRId64
                  ". Change the shape of the input layer, or the data."),
               name, wanted, specs[s].name, met, gradus_shape_count (&one), spec_count (&specs[s]));
  return FALSE;
}

static gboolean
bind_targets (GradusBinding *binding, GradusModel *model, const GradusArraySpec *specs, guint n, GError **error)
{
  binding->n_targets = gradus_model_n_outputs (model);
  if (n != binding->n_targets || n > GRADUS_MAX_HEADS)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _("The model has %u outputs and the data %u targets. Give each output of the "
                     "model its target; there may be %d."),
                   binding->n_targets, n, GRADUS_MAX_HEADS);
      return FALSE;
    }
  for (guint i = 0; i < n; i++)
    {
      const char *name = gradus_model_output (model, i, NULL);
      guint       t = 0;

      while (n > 1 && t < n && !g_str_equal (specs[t].name, name))
        t++;
      if (t == n)
        {
          g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                       _("The target of the model's output “%s” is not in the data. Name it in the "
                         "recipe's targets."),
                       name);
          return FALSE;
        }
      binding->target_order[i] = t;
      binding->targets[i] = specs[t];
    }
  return TRUE;
}

GradusSizes
gradus_binding_sizes (const GradusBinding *binding, const GradusBatch *batch)
{
  gint64 time = batch->time > 0 && binding->time > 1 ? batch->time : binding->time;

  if (binding->lengthens)
    time = MIN (gradus_time_bucket (time), binding->time);
  return gradus_sizes (batch->n_samples, time);
}

gboolean
gradus_binding_new (GradusBinding     *binding,
                    GradusModel       *model,
                    GradusBatchSource *source,
                    GError           **error)
{
  guint                  n, n_targets;
  const GradusArraySpec *inputs = source->funcs->inputs (source, &n);
  const GradusArraySpec *targets = source->funcs->targets (source, &n_targets);

  *binding = (GradusBinding){ .n_inputs = gradus_model_n_inputs (model) };
  if (n != binding->n_inputs || n > G_N_ELEMENTS (binding->order))
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _("The model has %u inputs, but the data has %u. Give each input of the model "
                     "its data."),
                   binding->n_inputs, n);
      return FALSE;
    }
  binding->time = 1;
  binding->lengthens = TRUE;
  for (guint i = 0; i < n; i++)
    if (!bind_input (binding, model, i, inputs, n, error))
      return FALSE;
  binding->weighted = source->funcs->has_weights != NULL && source->funcs->has_weights (source);
  return bind_targets (binding, model, targets, n_targets, error);
}

/* The mean of the losses of rows: over all, or over those that are valid. */
static gboolean
add_mean (GradusProgram *program, const GradusHead *head, GradusValueId losses, GradusValueId *mean, GError **error)
{
  const float   least = 1e-7f; /* where no row is valid the mean is 0 */
  GradusValueId terms[2] = { losses, head->valid }, counts[2], ratio[2], kept;

  if (head->valid == GRADUS_NO_VALUE)
    return gradus_program_add_node (program, "reduce_mean", 0, &losses, 1, mean, error, NULL);
  counts[1] = gradus_program_add_constant (program, GRADUS_DTYPE_FLOAT32, gradus_shape (0), &least);
  return gradus_program_add_node (program, "multiply", 0, terms, 2, &kept, error, NULL) &&
         gradus_program_add_node (program, "reduce_sum", 0, &kept, 1, &ratio[0], error, NULL) &&
         gradus_program_add_node (program, "reduce_sum", 0, &terms[1], 1, &counts[0], error, NULL) &&
         gradus_program_add_node (program, "maximum", 0, counts, 2, &ratio[1], error, NULL) &&
         gradus_program_add_node (program, "divide", 0, ratio, 2, mean, error, NULL);
}

static void
add_score (GArray *scores, GradusProgram *program, GradusScore score, gboolean prefix, const char *head, const char *name)
{
  g_autofree char *output = g_strdup_printf ("sums/%u", scores->len);
  guint            end = 0;

  if (scores->len > 0)
    {
      const GradusScore *last = &g_array_index (scores, GradusScore, scores->len - 1);

      end = last->offset + last->n;
    }
  score.offset = end;
  score.name = prefix ? g_strconcat (head, "/", name, NULL) : g_strdup (name);
  gradus_program_add_output (program, output, score.sums);
  g_array_append_val (scores, score);
}

/* Loss and metrics of an output; @mean: what it adds to the loss of the model. */
static gboolean
add_head (GradusCompiled       *self,
          GradusProgram        *program,
          GradusTrainerOptions *options,
          GradusHead           *head,
          GArray               *scores,
          GradusValueId        *mean,
          GError              **error)
{
  const GradusLoss *loss = gradus_heads_loss (&options->heads, head->name);
  g_autoptr (GPtrArray) metrics = gradus_heads_metrics (&options->heads, head->name);
  GradusCompiledHead *compiled = &self->heads[head->index];
  gboolean            several = self->n_heads > 1;
  GradusScore         score = { .head = head->index, .hidden = !several, .n = 2 };
  GradusValueId       losses, pair[2];

  if (!gradus_loss_build (loss, program, head, &losses, error))
    return FALSE;
  if (head->weights != GRADUS_NO_VALUE && !head->weighs_itself)
    {
      pair[0] = losses;
      pair[1] = head->weights;
      if (!gradus_program_add_node (program, "multiply", 0, pair, 2, &losses, error, NULL))
        return FALSE;
    }
  pair[0] = losses;
  pair[1] = head->valid;
  if (!add_mean (program, head, losses, mean, error) ||
      !gradus_program_add_node (program, "weighted_sum", 0, pair, 2, &score.sums, error, NULL))
    return FALSE;
  add_score (scores, program, score, TRUE, head->name, "loss");
  for (guint i = 0; i < metrics->len; i++)
    {
      const GradusMetric *metric = metrics->pdata[i];

      score = (GradusScore){ .head = head->index,
                             .metric = metric,
                             .hidden = metric->klass->kind == GRADUS_METRIC_CONFUSION };
      if (!gradus_metric_build (metric, program, head, &score.sums, &score.n, error))
        return FALSE;
      add_score (scores, program, score, several, head->name, metric->name);
    }
  compiled->n_classes = head->n_classes;
  compiled->n_labels = head->n_labels;
  compiled->rows = loss->klass->kind == GRADUS_LOSS_CTC ? 1 : gradus_head_rows (head);
  compiled->columns = head->shape.dims[head->shape.rank - 1];
  compiled->ignores = loss->ignores;
  compiled->ignore_class = loss->ignore_class;
  return TRUE;
}

/* @loss: the sum so far, GRADUS_NO_VALUE before the first; weights are options of a run. */
static gboolean
add_to_loss (GradusProgram *program, GradusTrainerOptions *options, const GradusHead *head, gboolean several, GradusValueId mean, GradusValueId *loss, GError **error)
{
  GradusValueId    pair[2] = { mean };
  g_autofree char *name = g_strconcat ("loss_weights/", head->name, NULL);

  if (several || options->heads.weighted)
    {
      pair[1] = gradus_program_add_hyper (program, name,
                                          (float) gradus_heads_weight (&options->heads, head->name));
      if (!gradus_program_add_node (program, "multiply", 0, pair, 2, &mean, error, NULL))
        return FALSE;
    }
  pair[0] = *loss;
  pair[1] = mean;
  *loss = mean;
  return pair[0] == GRADUS_NO_VALUE ||
         gradus_program_add_node (program, "add", 0, pair, 2, loss, error, NULL);
}

static gboolean
check_heads (GradusModel *model, GradusTrainerOptions *options, GError **error)
{
  const char *names[GRADUS_MAX_HEADS + 1] = { NULL };

  for (guint i = 0; i < gradus_model_n_outputs (model); i++)
    names[i] = gradus_model_output (model, i, NULL);
  return gradus_heads_check (&options->heads, names, error);
}

static void
take_class_weights (GradusCompiled *self, const GradusHeads *heads)
{
  gint64 classes = MAX (2, MAX (self->heads[0].columns, heads->n_class_weights));

  self->n_class_weights = (guint) MIN (classes, G_MAXINT32);
  self->class_weights = g_new (double, self->n_class_weights);
  for (guint i = 0; i < self->n_class_weights; i++)
    self->class_weights[i] = i < heads->n_class_weights ? heads->class_weights[i] : 1;
}

/* Forward, losses and metrics. @loss: of the model, added as an output of a program for training. */
static gboolean
add_forward (GradusCompiled       *self,
             GradusProgram        *program,
             GradusModel          *model,
             GradusTrainerOptions *options,
             const GradusBinding  *binding,
             gboolean              training,
             GradusValueId        *loss,
             GError              **error)
{
  const GradusHeads *heads = &options->heads;
  gboolean           by_class = training && (heads->balanced || heads->class_weights != NULL);
  GradusValueId      outputs[GRADUS_MAX_HEADS], logits[GRADUS_MAX_HEADS];
  GradusValueId      masks[GRADUS_MAX_HEADS];
  g_autoptr (GArray) scores = g_array_new (FALSE, TRUE, sizeof (GradusScore));
  gboolean           ok = TRUE;

  self->n_heads = binding->n_targets;
  *loss = GRADUS_NO_VALUE;
  if (by_class && self->n_heads > 1)
    {
      g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                           _("/compile/class_weight: weights of classes are for models with one "
                             "output. Leave them out, or weigh the samples."));
      return FALSE;
    }
  if (by_class && gradus_heads_loss (heads, gradus_model_output (model, 0, NULL)) != NULL &&
      gradus_heads_loss (heads, gradus_model_output (model, 0, NULL))->klass->kind == GRADUS_LOSS_CTC)
    {
      g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                           _("/compile/class_weight: under CTC a sample has no class. Leave the "
                             "weights out, or weigh the samples."));
      return FALSE;
    }
  if (heads->sample_weight != NULL && !binding->weighted)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                   _("/compile/sample_weight: the data has no weights “%s”. Leave it out, or take "
                     "data with such a column."),
                   heads->sample_weight);
      return FALSE;
    }
  if (!check_heads (model, options, error) ||
      !gradus_model_build (model, program, training, binding->dtypes, outputs, logits, masks,
                           error))
    return FALSE;
  for (guint i = 0; ok && i < self->n_heads; i++)
    {
      GradusHead head = { .index = i, .output = outputs[i], .logits = logits[i], .mask = masks[i],
                          .target = binding->targets[i], .weighted = binding->weighted || by_class };
      GradusValueId mean;

      head.name = gradus_model_output (model, i, &head.shape);
      self->loss_weights[i] = gradus_heads_weight (heads, head.name);
      ok = add_head (self, program, options, &head, scores, &mean, error) &&
           (!training ||
            add_to_loss (program, options, &head, self->n_heads > 1, mean, loss, error));
    }
  self->n_scores = scores->len;
  self->scores = (GradusScore *) g_array_free (g_steal_pointer (&scores), FALSE);
  if (!ok)
    return FALSE;
  self->n_sums = self->scores[self->n_scores - 1].offset + self->scores[self->n_scores - 1].n;
  self->batch_sums = g_new0 (double, self->n_sums);
  if (by_class)
    take_class_weights (self, heads);
  return TRUE;
}

static GradusValueId
find_input (GradusCompiled *self, const char *what, guint head)
{
  g_autofree char *name = g_strdup_printf ("%s/%u", what, head);

  return gradus_program_find (self->program, name);
}

/* Ids change in the passes; names do not. */
static void
find_ids (GradusCompiled *self, GradusModel *model)
{
  self->n_inputs = gradus_model_n_inputs (model);
  for (guint i = 0; i < self->n_inputs; i++)
    self->inputs[i] = gradus_program_find (self->program,
                                           gradus_model_input (model, i, NULL, NULL));
  self->loss = gradus_program_find (self->program, "loss");
  self->penalty = gradus_program_find (self->program, "penalty");
  self->keep = gradus_program_find (self->program, "sum_keep");
  self->weight = gradus_program_find (self->program, "sum_weight");
  self->factor = gradus_program_find (self->program, "sum_factor");
  self->norm = gradus_program_find (self->program, "gradient_norm");
  for (guint i = 0; i < self->n_heads; i++)
    {
      self->heads[i].target = find_input (self, "target", i);
      self->heads[i].weight = find_input (self, "weight", i);
      self->heads[i].valid = find_input (self, "valid", i);
    }
  for (guint i = 0; i < self->n_scores; i++)
    self->scores[i].sums = find_input (self, "sums", i);
  for (guint i = 0; i < self->n_gradients; i++)
    {
      g_autofree char *gradient = g_strdup_printf ("gradient/%s", self->names[i]);
      g_autofree char *square = g_strdup_printf ("square/%s", self->names[i]);

      self->gradients[i] = gradus_program_find (self->program, gradient);
      self->squares[i] = gradus_program_find (self->program, square);
    }
}

static gboolean
finish (GradusCompiled *self, GradusProgram *program, GradusModel *model, GError **error)
{
  if ((self->program = gradus_passes_run (program, error)) == NULL)
    return FALSE;
  find_ids (self, model);
  return TRUE;
}

gboolean
gradus_compiled_rematerialize (GradusCompiled     *self,
                               GradusModel        *model,
                               GradusRematerialize how,
                               GradusSizes         sizes,
                               double             *share,
                               GError            **error)
{
  GradusProgram *made = gradus_rematerialize (self->program, how, sizes, share, error);

  if (made == NULL)
    return FALSE;
  gradus_program_unref (self->program);
  self->program = made;
  find_ids (self, model);
  return TRUE;
}

/* What regularisers say; added to @loss, the mean of a training step, which then is an output. */
static gboolean
add_penalties (GradusProgram *program, GradusModel *model, GradusValueId *loss, GError **error)
{
  GradusValueId pair[2];

  if (!gradus_model_build_penalties (model, program, &pair[1], error))
    return FALSE;
  if (pair[1] != GRADUS_NO_VALUE)
    gradus_program_add_output (program, "penalty", pair[1]);
  if (loss == NULL)
    return TRUE;
  pair[0] = *loss;
  if (pair[1] != GRADUS_NO_VALUE &&
      !gradus_program_add_node (program, "add", 0, pair, 2, loss, error, NULL))
    return FALSE;
  gradus_program_add_output (program, "loss", *loss);
  return TRUE;
}

/* The variables that the loss depends on, and their gradients as they are before clipping. */
static gboolean
add_gradients (GradusCompiled *self, GradusProgram *program, GradusValueId loss, GArray *variables, GError **error)
{
  guint n_values = gradus_program_n_values (program);
  g_autofree GradusValueId *gradients = NULL;
  guint kept = 0;

  for (guint i = 0; i < n_values; i++)
    {
      const GradusValue *value = gradus_program_value (program, i);

      if (value->kind == GRADUS_VALUE_VARIABLE && value->role == GRADUS_VARIABLE_WEIGHT)
        g_array_append_val (variables, value->id);
    }
  if (variables->len == 0)
    {
      g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                           _("The model has nothing to train. Add a layer with weights, such as "
                             "Dense, and leave it trainable."));
      return FALSE;
    }
  gradients = g_new (GradusValueId, variables->len);
  if (!gradus_autodiff (program, loss, (GradusValueId *) variables->data, variables->len,
                        gradients, error))
    return FALSE;
  self->names = g_new0 (char *, variables->len + 1);
  self->gradients = g_new (GradusValueId, variables->len);
  self->squares = g_new (GradusValueId, variables->len);
  for (guint i = 0; i < variables->len; i++)
    {
      GradusValueId id = g_array_index (variables, GradusValueId, i);

      if (gradients[i] == GRADUS_NO_VALUE)
        continue;
      g_array_index (variables, GradusValueId, kept) = id;
      self->names[kept] = g_strdup (gradus_program_value (program, id)->name);
      self->gradients[kept++] = gradients[i];
    }
  g_array_set_size (variables, kept);
  self->n_gradients = kept;
  if (kept > 0)
    return TRUE;
  g_set_error_literal (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                       _("The loss depends on no weight of the model. Check how the layers are "
                         "connected."));
  return FALSE;
}

/* From here on a gradient is the mean over all samples of the batches that make one step. */
static gboolean
accumulate (GradusCompiled *self, GradusProgram *program, GArray *variables, GError **error)
{
  gradus_program_set_scope (program, GRADUS_PHASE_BACKWARD, NULL);
  for (guint i = 0; i < self->n_gradients; i++)
    {
      g_autofree char   *name = g_strdup_printf ("optimizer/%s/sum", self->names[i]);
      GradusValueId      variable = g_array_index (variables, GradusValueId, i);
      GradusValueType    type = gradus_program_value (program, variable)->type;
      const GradusValueId inputs[] = {
        gradus_program_add_variable (program, name, GRADUS_VARIABLE_GRADIENT, type.dtype, type.shape),
        self->gradients[i],
        gradus_program_add_hyper (program, "sum_keep", 0),
        gradus_program_add_hyper (program, "sum_weight", 1),
        gradus_program_add_hyper (program, "sum_factor", 1),
      };

      if (!gradus_program_add_node (program, "accumulate", 0, inputs, 5, &self->gradients[i], error,
                                    NULL))
        return FALSE;
    }
  return TRUE;
}

static gboolean
add_norm (GradusCompiled *self, GradusProgram *program, GradusValueId *norm, GError **error)
{
  gradus_program_set_scope (program, GRADUS_PHASE_BACKWARD, NULL);
  for (guint i = 0; i < self->n_gradients; i++)
    {
      g_autofree char *gradient = g_strdup_printf ("gradient/%s", self->names[i]);
      g_autofree char *square = g_strdup_printf ("square/%s", self->names[i]);

      if (!gradus_program_add_node (program, "sum_squares", 0, &self->gradients[i], 1,
                                    &self->squares[i], error, NULL))
        return FALSE;
      gradus_program_add_output (program, gradient, self->gradients[i]);
      gradus_program_add_output (program, square, self->squares[i]);
    }
  if (!gradus_program_add_node (program, "global_norm", 0, self->squares, self->n_gradients, norm,
                                error, NULL))
    return FALSE;
  gradus_program_add_output (program, "gradient_norm", *norm);
  return TRUE;
}

static gboolean
clip_value (GradusProgram *program, GradusValueId *gradient, GradusValueId limit, GError **error)
{
  GradusValueId low, pair[2] = { *gradient, limit };

  if (!gradus_program_add_node (program, "minimum", 0, pair, 2, &pair[0], error, NULL) ||
      !gradus_program_add_node (program, "negative", 0, &limit, 1, &low, error, NULL))
    return FALSE;
  pair[1] = low;
  return gradus_program_add_node (program, "maximum", 0, pair, 2, gradient, error, NULL);
}

static gboolean
add_scale (GradusProgram *program, GradusValueId norm, GradusValueId limit, GradusValueId *scale, GError **error)
{
  GradusValueId inputs[2] = { norm, limit };

  return gradus_program_add_node (program, "clip_scale", 0, inputs, 2, scale, error, NULL);
}

static gboolean
add_updates (GradusCompiled       *self,
             GradusProgram        *program,
             GradusModel          *model,
             GradusTrainerOptions *options,
             GArray               *variables,
             GradusValueId         norm,
             GError              **error)
{
  GradusValueId limit = gradus_program_add_hyper (program, "clip", options->clip_limit);
  GradusValueId none = limit, scale = GRADUS_NO_VALUE, own;

  gradus_program_set_scope (program, GRADUS_PHASE_UPDATE, NULL);
  /* Clipping by value leaves the scale alone: its limit is another number. */
  if (options->clip == GRADUS_CLIP_VALUE)
    none = gradus_program_add_constant (program, GRADUS_DTYPE_FLOAT32, gradus_shape (0), &(float){ 0 });
  if (options->clip != GRADUS_CLIP_NORM && !add_scale (program, norm, none, &scale, error))
    return FALSE;
  for (guint i = 0; i < self->n_gradients; i++)
    {
      g_autofree char *layer = g_path_get_dirname (self->names[i]);
      GradusValueId    gradient = self->gradients[i];

      gradus_program_set_scope (program, GRADUS_PHASE_UPDATE, layer);
      if (options->clip == GRADUS_CLIP_VALUE && !clip_value (program, &gradient, limit, error))
        return FALSE;
      if (options->clip == GRADUS_CLIP_NORM &&
          (!gradus_program_add_node (program, "global_norm", 0, &self->squares[i], 1, &own, error,
                                     NULL) ||
           !add_scale (program, own, limit, &scale, error)))
        return FALSE;
      if (!gradus_optimizer_build (&options->optimizer, program, self->names[i],
                                   g_array_index (variables, GradusValueId, i), gradient, scale,
                                   error) ||
          !gradus_model_build_constraint (model, program, self->names[i], error))
        return FALSE;
    }
  return TRUE;
}

gboolean
gradus_compile_train (GradusCompiled       *self,
                      GradusModel          *model,
                      GradusTrainerOptions *options,
                      const GradusBinding  *binding,
                      GError              **error)
{
  g_autoptr (GradusProgram) program = gradus_program_new ("train");
  g_autoptr (GArray) variables = g_array_new (FALSE, FALSE, sizeof (GradusValueId));
  GradusValueId loss, norm;

  *self = (GradusCompiled){ 0 };
  return add_forward (self, program, model, options, binding, TRUE, &loss, error) &&
         add_penalties (program, model, &loss, error) &&
         add_gradients (self, program, loss, variables, error) &&
         (options->accumulate == 1 || accumulate (self, program, variables, error)) &&
         add_norm (self, program, &norm, error) &&
         add_updates (self, program, model, options, variables, norm, error) &&
         gradus_model_build_updates (model, program, error) &&
         finish (self, program, model, error);
}

gboolean
gradus_compile_evaluate (GradusCompiled       *self,
                         GradusModel          *model,
                         GradusTrainerOptions *options,
                         const GradusBinding  *binding,
                         GError              **error)
{
  g_autoptr (GradusProgram) program = gradus_program_new ("evaluate");
  GradusValueId loss;

  *self = (GradusCompiled){ 0 };
  return add_forward (self, program, model, options, binding, FALSE, &loss, error) &&
         add_penalties (program, model, NULL, error) &&
         finish (self, program, model, error);
}

gboolean
gradus_compile_infer (GradusCompiled    *self,
                      GradusModel       *model,
                      const GradusDType *dtypes,
                      GError           **error)
{
  g_autoptr (GradusProgram) program = gradus_program_new ("infer");
  guint                     n = gradus_model_n_outputs (model);
  g_autofree GradusValueId *outputs = g_new (GradusValueId, n);

  *self = (GradusCompiled){ 0 };
  if (!gradus_model_build (model, program, FALSE, dtypes, outputs, NULL, NULL, error))
    return FALSE;
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = g_strdup_printf ("output/%u", i);

      gradus_program_add_output (program, name, outputs[i]);
    }
  if (!finish (self, program, model, error))
    return FALSE;
  self->predictions = g_new (GradusValueId, n);
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = g_strdup_printf ("output/%u", i);

      self->predictions[i] = gradus_program_find (self->program, name);
    }
  return TRUE;
}

void
gradus_compiled_clear (GradusCompiled *self)
{
  for (guint i = 0; i < self->n_heads; i++)
    {
      g_clear_pointer (&self->heads[i].weights, g_free);
      g_clear_pointer (&self->heads[i].valids, g_free);
      g_clear_pointer (&self->heads[i].labels, g_free);
    }
  for (guint i = 0; i < self->n_scores; i++)
    g_free (self->scores[i].name);
  g_clear_pointer (&self->scores, g_free);
  self->n_scores = 0;
  g_clear_pointer (&self->class_weights, g_free);
  g_clear_pointer (&self->batch_sums, g_free);
  g_clear_pointer (&self->program, gradus_program_unref);
  g_clear_pointer (&self->names, g_strfreev);
  g_clear_pointer (&self->gradients, g_free);
  g_clear_pointer (&self->squares, g_free);
  g_clear_pointer (&self->predictions, g_free);
}
