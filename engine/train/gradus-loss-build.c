/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-loss.h"

#include "formula/gradus-formula.h"
#include "graph/gradus-op.h"

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

static GradusShape
row_shape (const GradusHead *head)
{
  GradusShape shape = head->shape;

  shape.dims[--shape.rank] = 0;
  return shape;
}

gint64
gradus_head_rows (const GradusHead *head)
{
  GradusShape shape = row_shape (head);

  shape = gradus_shape_bind (&shape, gradus_sizes (1, 1));
  return gradus_shape_count (&shape);
}

gboolean
gradus_head_refuse (const GradusHead *head, const char *wanted, GError **error)
{
  g_autofree char *output = gradus_shape_to_string (&head->shape);

  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
               _ ("The loss does not fit: the output “%s” has shape %s and the targets “%s” have "
                  "%" PRId64 " numbers a sample. %s"),
               head->name, output, head->target.name, spec_count (&head->target), wanted);
  return FALSE;
}

static GradusValueId
add_input (GradusProgram *program, const char *what, const GradusHead *head, GradusDType dtype, GradusShape shape)
{
  g_autofree char *name = g_strdup_printf ("%s/%u", what, head->index);

  return gradus_program_add_input (program, name, dtype, shape);
}

/* Where rows are left out the host makes the labels fit for use, as int32. */
static gboolean
add_labels (GradusProgram *program, GradusHead *head, GradusShape shape, gboolean prepared, GError **error)
{
  GradusDType   dtype = prepared ? GRADUS_DTYPE_INT32 : head->target.dtype;
  GradusValueId input = add_input (program, "target", head, dtype, shape);

  head->labels = input;
  return dtype == GRADUS_DTYPE_INT32 ||
         gradus_program_add_node (program, "cast", 0, &input, 1, &head->labels, error, "dtype",
                                  "int32", NULL);
}

static gboolean
add_targets (GradusProgram *program, GradusHead *head, GError **error)
{
  GradusValueId input = add_input (program, "target", head, head->target.dtype, head->shape);

  head->targets = input;
  return head->target.dtype == GRADUS_DTYPE_FLOAT32 ||
         gradus_program_add_node (program, "cast", 0, &input, 1, &head->targets, error, "dtype",
                                  "float32", NULL);
}

/* Outputs (None) become (None, 1), so that every head has rows. */
static gboolean
normalise (GradusProgram *program, GradusHead *head, GError **error)
{
  const gint64  shape[] = { GRADUS_DIM_BATCH, 1 };
  GradusValueId flat = head->output;

  if (head->shape.rank != 1)
    return TRUE;
  head->shape = gradus_shape (2, (gint64) GRADUS_DIM_BATCH, (gint64) 1);
  return gradus_program_add_node (program, "reshape", 0, &flat, 1, &head->output, error, "shape",
                                  2u, shape, NULL);
}

static gboolean
add_target (const GradusLoss *self, GradusProgram *program, GradusHead *head, GError **error)
{
  gint64 rows = gradus_head_rows (head), count = spec_count (&head->target);
  gint64 classes = head->shape.dims[head->shape.rank - 1];

  if (self->klass->kind == GRADUS_LOSS_CTC)
    {
      if (head->shape.rank != 3)
        return gradus_head_refuse (head, _("CTC takes an output of shape (None, time, classes) and "
                                           "a row of labels a sample."), error);
      head->n_classes = classes;
      head->n_labels = count;
      return add_labels (program, head, gradus_shape (2, (gint64) GRADUS_DIM_BATCH, count), FALSE,
                         error);
    }
  if (self->klass->kind == GRADUS_LOSS_SPARSE)
    {
      if (count != rows)
        return gradus_head_refuse (
            head,
            rows == 1 ? _("This loss takes one label a sample; for a row of numbers use "
                          "“categorical_crossentropy”.")
                      : _("This loss takes one label for each row of classes in the output."),
            error);
      head->n_classes = classes;
      head->n_labels = rows;
      return add_labels (program, head, row_shape (head), self->ignores, error);
    }
  if (count != rows * classes)
    return gradus_head_refuse (
        head,
        self->klass->kind == GRADUS_LOSS_CATEGORICAL
            ? _("This loss takes as many as there are outputs; for one label a sample use "
                "“sparse_categorical_crossentropy”.")
            : _("This loss takes as many targets as outputs. Change the last layer or the targets."),
        error);
  return add_targets (program, head, error);
}

/* The input of @op, if that made @value. */
static GradusValueId
input_of (GradusProgram *program, GradusValueId value, const char *op)
{
  const GradusValue *made = gradus_program_value (program, value);
  const GradusNode  *node;

  if (made->kind != GRADUS_VALUE_TEMPORARY)
    return GRADUS_NO_VALUE;
  node = gradus_program_node (program, made->producer);
  return g_str_equal (node->op->name, op) ? node->inputs[0] : GRADUS_NO_VALUE;
}

/* t (1 - s) + s / n */
static gboolean
smooth (const GradusLoss *self, GradusProgram *program, gint64 n, GradusValueId *targets, GError **error)
{
  GradusValueId sharp = *targets;

  return self->label_smoothing == 0 ||
         gradus_program_add_node (program, "affine", 0, &sharp, 1, targets, error, "scale",
                                  1 - self->label_smoothing, "offset",
                                  self->label_smoothing / (double) n, NULL);
}

static gboolean
activate (GradusProgram *program, const char *op, GradusValueId *value, GError **error)
{
  GradusValueId logits = *value;

  return gradus_program_add_node (program, op, 0, &logits, 1, value, error, NULL);
}

/* @softmax (out, optional): what the loss makes of the logits anyhow. */
static gboolean
crossentropy (const GradusLoss *self,
              GradusProgram    *program,
              const GradusHead *head,
              GradusValueId     prediction,
              GradusValueId     logits,
              GradusValueId    *softmax,
              GradusValueId    *losses,
              GError          **error)
{
  gboolean      sparse = self->klass->kind == GRADUS_LOSS_SPARSE;
  gint64        n = head->shape.dims[head->shape.rank - 1];
  GradusValueId inputs[2] = { prediction, sparse ? head->labels : head->targets }, outputs[2];

  if (!smooth (self, program, n, &inputs[1], error))
    return FALSE;
  if (logits == GRADUS_NO_VALUE && !self->from_logits)
    return gradus_program_add_node (program, sparse ? "sparse_cross_entropy" : "cross_entropy", 0,
                                    inputs, 2, losses, error, NULL);
  inputs[0] = self->from_logits ? prediction : logits;
  if (!gradus_program_add_node (program,
                                sparse ? "sparse_softmax_cross_entropy" : "softmax_cross_entropy",
                                0, inputs, 2, outputs, error, NULL))
    return FALSE;
  *losses = outputs[0];
  if (softmax != NULL)
    *softmax = outputs[1];
  return TRUE;
}

static gboolean
binary (const GradusLoss *self,
        GradusProgram    *program,
        const GradusHead *head,
        GradusValueId     prediction,
        GradusValueId    *losses,
        GError          **error)
{
  GradusValueId logits = self->from_logits ? prediction
                                           : input_of (program, prediction, "sigmoid");
  GradusValueId inputs[2] = { prediction, head->targets };

  if (!smooth (self, program, 2, &inputs[1], error))
    return FALSE;
  if (self->klass->kind == GRADUS_LOSS_BINARY)
    {
      if (logits != GRADUS_NO_VALUE)
        inputs[0] = logits;
      return gradus_program_add_node (program,
                                      logits != GRADUS_NO_VALUE ? "sigmoid_binary_crossentropy"
                                                                : "binary_crossentropy",
                                      0, inputs, 2, losses, error, NULL);
    }
  if (self->from_logits && !activate (program, "sigmoid", &inputs[0], error))
    return FALSE;
  return gradus_program_add_node (program, "binary_focal_crossentropy", 0, inputs, 2, losses, error,
                                  "gamma", self->gamma, "balance",
                                  self->balances ? self->alpha : -1.0, NULL);
}

static gboolean
focal (const GradusLoss *self,
       GradusProgram    *program,
       const GradusHead *head,
       GradusValueId     prediction,
       GradusValueId    *losses,
       GError          **error)
{
  GradusValueId inputs[2] = { prediction, head->targets };

  if (!smooth (self, program, head->shape.dims[head->shape.rank - 1], &inputs[1], error) ||
      (self->from_logits && !activate (program, "softmax", &inputs[0], error)))
    return FALSE;
  return gradus_program_add_node (program, "categorical_focal_crossentropy", 0, inputs, 2, losses,
                                  error, "gamma", self->gamma, "alpha", self->alpha, NULL);
}

/* The weight of each row beside the numbers of a row; 1 where there are none. */
static gboolean
add_formula_weight (GradusProgram *program, GradusHead *head, gboolean uses, GradusValueId *weight, GError **error)
{
  const float one = 1;
  GradusShape shape = head->shape;

  shape.dims[shape.rank - 1] = 1;
  if (!uses || head->weights == GRADUS_NO_VALUE)
    {
      *weight = gradus_program_add_constant (program, GRADUS_DTYPE_FLOAT32, gradus_shape (0), &one);
      return TRUE;
    }
  head->weighs_itself = TRUE;
  *weight = head->weights;
  return gradus_program_add_node (program, "reshape", 0, weight, 1, weight, error, "shape", shape.rank, shape.dims,
                                  NULL);
}

/* @value, which may have axes of 1, over the output's shape, then the mean of each row. */
static gboolean
mean_of_rows (GradusProgram *program, const GradusHead *head, GradusValueId value, GradusValueId *losses, GError **error)
{
  const GradusShape *shape = &gradus_program_value (program, value)->type.shape;
  const gint64       last = head->shape.rank - 1;
  const float        nothing = 0;
  GradusValueId      pair[2] = { value, GRADUS_NO_VALUE }, zero;

  if (!gradus_shape_equal (shape, &head->shape))
    {
      zero = gradus_program_add_constant (program, GRADUS_DTYPE_FLOAT32, gradus_shape (0), &nothing);
      pair[1] = head->output;
      if (!gradus_program_add_node (program, "broadcast_like", 0, (GradusValueId[]){ zero, head->output }, 2, &pair[1],
                                    error, NULL)
          || !gradus_program_add_node (program, "add", 0, pair, 2, &value, error, NULL))
        return FALSE;
    }
  return gradus_program_add_node (program, "reduce_mean", 0, &value, 1, losses, error, "axes", 1u, &last, NULL);
}

static gboolean
formula (const GradusLoss *self,
         GradusProgram    *program,
         GradusHead       *head,
         GradusValueId     prediction,
         gboolean          weighs,
         GradusValueId    *losses,
         GError          **error)
{
  static const char *const  names[] = { "y", "p", "w", NULL };
  GradusValueId             in[3] = { head->targets, prediction, GRADUS_NO_VALUE }, value;
  g_autoptr (GradusFormula) parsed = gradus_formula_parse (self->formula, error);

  return parsed != NULL
         && add_formula_weight (program, head, weighs && gradus_formula_uses (parsed, "w"), &in[2], error)
         && gradus_formula_build (parsed, program, names, in, &value, error)
         && mean_of_rows (program, head, value, losses, error);
}

static gboolean
values (const GradusLoss *self,
        GradusProgram    *program,
        const GradusHead *head,
        GradusValueId     prediction,
        GradusValueId     logits,
        GradusValueId    *softmax,
        GradusValueId    *losses,
        GError          **error)
{
  GradusValueId inputs[2] = { prediction, head->targets };

  switch (self->klass->kind)
    {
    case GRADUS_LOSS_SPARSE:
    case GRADUS_LOSS_CATEGORICAL:
      return crossentropy (self, program, head, prediction, logits, softmax, losses, error);
    case GRADUS_LOSS_BINARY:
    case GRADUS_LOSS_BINARY_FOCAL:
      return binary (self, program, head, prediction, losses, error);
    case GRADUS_LOSS_CATEGORICAL_FOCAL:
      return focal (self, program, head, prediction, losses, error);
    case GRADUS_LOSS_CTC:
      inputs[1] = head->labels;
      break;
    case GRADUS_LOSS_FORMULA:
      g_assert_not_reached ();
    case GRADUS_LOSS_PLAIN:
      if (g_str_equal (self->klass->op, "huber"))
        return gradus_program_add_node (program, "huber", 0, inputs, 2, losses, error, "delta",
                                        self->delta, NULL);
      break;
    }
  return gradus_program_add_node (program, self->klass->op, 0, inputs, 2, losses, error, NULL);
}

gboolean
gradus_loss_values (const GradusLoss *self,
                    GradusProgram    *program,
                    const GradusHead *head,
                    GradusValueId     prediction,
                    GradusValueId     logits,
                    GradusValueId    *losses,
                    GError          **error)
{
  GradusHead copy = *head;

  if (self->klass->kind == GRADUS_LOSS_FORMULA)
    return formula (self, program, &copy, prediction, FALSE, losses, error);
  return values (self, program, head, prediction, logits, NULL, losses, error);
}

/* Steps that are padding do not count, where the rows are the steps. */
static gboolean
add_mask (GradusProgram *program, GradusHead *head, const GradusShape *rows, GError **error)
{
  GradusValueId pair[2] = { head->valid, head->mask };

  if (head->mask == GRADUS_NO_VALUE ||
      !gradus_shape_equal (&gradus_program_value (program, head->mask)->type.shape, rows))
    return TRUE;
  head->valid = head->mask;
  return pair[0] == GRADUS_NO_VALUE ||
         gradus_program_add_node (program, "multiply", 0, pair, 2, &head->valid, error, NULL);
}

gboolean
gradus_loss_build (const GradusLoss *self,
                   GradusProgram    *program,
                   GradusHead       *head,
                   GradusValueId    *losses,
                   GError          **error)
{
  GradusShape rows;

  head->labels = head->targets = head->weights = head->valid = GRADUS_NO_VALUE;
  head->n_classes = head->n_labels = 0;
  head->weighs_itself = FALSE;
  if (!normalise (program, head, error) || !add_target (self, program, head, error))
    return FALSE;
  rows = self->klass->kind == GRADUS_LOSS_CTC ? gradus_shape (1, (gint64) GRADUS_DIM_BATCH)
                                              : row_shape (head);
  if (head->weighted)
    head->weights = add_input (program, "weight", head, GRADUS_DTYPE_FLOAT32, rows);
  if (self->ignores)
    head->valid = add_input (program, "valid", head, GRADUS_DTYPE_FLOAT32, rows);
  if (!add_mask (program, head, &rows, error))
    return FALSE;
  head->prediction = head->output;
  if (self->klass->kind == GRADUS_LOSS_FORMULA)
    return formula (self, program, head, head->output, TRUE, losses, error);
  /* The loss makes the softmax anyhow: the layer's own need not run in a step. */
  return values (self, program, head, head->output, head->logits,
                 self->from_logits ? NULL : &head->prediction, losses, error);
}
