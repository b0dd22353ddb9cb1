/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-schedule.h"

#include <glib/gi18n-lib.h>
#include <math.h>

#include "formula/gradus-formula.h"

static double
exponential (const double *args, double step)
{
  double p = step / args[1];

  return args[0] * pow (args[2], args[3] != 0 ? floor (p) : p);
}

static double
inverse_time (const double *args, double step)
{
  double p = step / args[1];

  return args[0] / (1 + args[2] * (args[3] != 0 ? floor (p) : p));
}

static double
polynomial (const double *args, double step)
{
  double steps = args[1];

  if (args[4] != 0)
    steps *= step == 0 ? 1 : ceil (step / steps);
  else
    step = MIN (step, steps);
  return (args[0] - args[2]) * pow (1 - step / steps, args[3]) + args[2];
}

/* The warm-up of Keras's own argument: from initial_learning_rate to warmup_target. */
static double
cosine (const double *args, double step)
{
  gboolean warms = !isnan (args[3]);
  double   warmup = warms ? args[4] : 0, from = warms ? args[3] : args[0];
  double   cosine_decayed;

  step = MIN (step, args[1] + warmup);
  if (step < warmup)
    return (from - args[0]) * step / warmup + args[0];
  cosine_decayed = 0.5 * (1 + cos (G_PI * (step - warmup) / args[1]));
  return from * ((1 - args[2]) * cosine_decayed + args[2]);
}

/* Loshchilov and Hutter, SGDR, 2017. Counted, not by a logarithm, which rounds at a restart. */
static double
cosine_restarts (const double *args, double step)
{
  double length = args[1], factor = 1;

  for (guint i = 0; step >= length && i < 100000; i++)
    {
      step -= length;
      length *= args[2];
      factor *= args[3];
    }
  return args[0] *
         ((1 - args[4]) * 0.5 * factor * (1 + cos (G_PI * MIN (1, step / length))) + args[4]);
}

static double
anneal (double from, double to, double share, gboolean linear)
{
  share = CLAMP (share, 0, 1);
  return linear ? from + (to - from) * share : to + (from - to) / 2 * (1 + cos (G_PI * share));
}

static double
one_cycle (const double *args, double step)
{
  double   max = args[0], total = args[1], up = args[2] * total - 1;
  double   initial = max / args[3], least = initial / args[4];
  gboolean linear = args[5] != 0, three = args[6] != 0;
  double   down = three ? 2 * args[2] * total - 2 : total - 1;

  if (step <= up && up > 0)
    return anneal (initial, max, step / up, linear);
  if (step <= down || !three)
    return anneal (max, three ? initial : least, (step - up) / MAX (1, down - up), linear);
  return anneal (initial, least, (step - down) / MAX (1, total - 1 - down), linear);
}

static const char *const flags[] = { "false", "true", NULL };
static const char *const anneals[] = { "cos", "linear", NULL };

#define RATE { "initial_learning_rate", NULL, 0, 1e6, NULL }
#define STEPS(name) { name, NULL, 1, 1e15, NULL }
#define NUMBER(name, fallback, min, max) { name, fallback, min, max, NULL }
#define FLAG(name) { name, "false", 0, 0, flags }

static const GradusScheduleClass classes[] = {
  { "ExponentialDecay",
    { RATE, STEPS ("decay_steps"), NUMBER ("decay_rate", NULL, 0, 1e6), FLAG ("staircase"), { NULL } },
    exponential },
  { "CosineDecay",
    { RATE, STEPS ("decay_steps"), NUMBER ("alpha", "0.0", 0, 1e6),
      NUMBER ("warmup_target", "null", 0, 1e6), NUMBER ("warmup_steps", "0", 0, 1e15), { NULL } },
    cosine },
  { "CosineDecayRestarts",
    { RATE, STEPS ("first_decay_steps"), NUMBER ("t_mul", "2.0", 1, 1e6),
      NUMBER ("m_mul", "1.0", 0, 1e6), NUMBER ("alpha", "0.0", 0, 1e6), { NULL } },
    cosine_restarts },
  { "PolynomialDecay",
    { RATE, STEPS ("decay_steps"), NUMBER ("end_learning_rate", "0.0001", 0, 1e6),
      NUMBER ("power", "1.0", 0, 1e3), FLAG ("cycle"), { NULL } },
    polynomial },
  { "PiecewiseConstantDecay", { { NULL } }, NULL },
  { "InverseTimeDecay",
    { RATE, STEPS ("decay_steps"), NUMBER ("decay_rate", NULL, 0, 1e6), FLAG ("staircase"), { NULL } },
    inverse_time },
  { "OneCycle",
    { NUMBER ("max_learning_rate", NULL, 0, 1e6), STEPS ("total_steps"),
      NUMBER ("pct_start", "0.3", 0, 1), NUMBER ("div_factor", "25.0", 1e-6, 1e9),
      NUMBER ("final_div_factor", "10000.0", 1e-6, 1e12),
      { "anneal_strategy", "\"cos\"", 0, 0, anneals }, FLAG ("three_phase"), { NULL } },
    one_cycle },
};

const GradusScheduleClass *
gradus_schedule_classes (guint *n)
{
  *n = G_N_ELEMENTS (classes);
  return classes;
}

char *
gradus_schedule_example (const GradusScheduleClass *klass, double rate, gint64 steps)
{
  GradusSchedule self = { .klass = klass, .n_boundaries = 2 };
  g_autoptr (JsonNode) node = NULL;

  steps = MAX (steps, 8);
  for (guint i = 0; klass->args[i].name != NULL; i++)
    {
      const GradusScheduleArg *arg = &klass->args[i];

      self.args[i] = i == 0                                        ? rate
                     : g_str_equal (arg->name, "first_decay_steps") ? steps / 4
                     : arg->fallback == NULL && i == 1              ? steps
                     : arg->fallback == NULL                        ? 0.1
                     : g_str_equal (arg->fallback, "null")          ? NAN
                                                                    : g_ascii_strtod (arg->fallback, NULL);
    }
  for (guint i = 0; i < 3; i++)
    self.values[i] = rate * pow (0.1, i);
  self.boundaries[0] = steps / 2;
  self.boundaries[1] = steps / 4 * 3;
  node = gradus_schedule_write (&self);
  return gradus_json_to_string (node, FALSE);
}

static const GradusScheduleClass *
find_class (GradusJsonObject *object)
{
  const char *names[G_N_ELEMENTS (classes) + 1] = { NULL };
  const char *name, *near;

  gradus_json_require (object, "class_name", NULL);
  if ((name = gradus_json_string (object, "class_name", NULL)) == NULL)
    return NULL;
  for (gsize i = 0; i < G_N_ELEMENTS (classes); i++)
    {
      names[i] = classes[i].class_name;
      if (g_str_equal (name, names[i]))
        return &classes[i];
    }
  near = gradus_json_nearest (name, names);
  gradus_json_refuse (object, "class_name",
                      _("There is no learning rate schedule “%s”; write “%s”."), name,
                      near ? near : "CosineDecay");
  return NULL;
}

static double
read_arg (const GradusScheduleArg *arg, GradusJsonObject *config)
{
  if (arg->fallback == NULL)
    gradus_json_require (config, arg->name, NULL);
  if (arg->choices == flags)
    return gradus_json_bool (config, arg->name, FALSE);
  if (arg->choices != NULL)
    return gradus_json_enum (config, arg->name, arg->choices, 0);
  return gradus_json_double (config, arg->name, arg->min, arg->max,
                             arg->fallback == NULL                  ? 1
                             : g_str_equal (arg->fallback, "null") ? NAN
                                                                   : g_ascii_strtod (arg->fallback, NULL));
}

static void
read_pieces (GradusSchedule *self, GradusJsonObject *config)
{
  g_autoptr (GradusJsonArray) boundaries = NULL;
  g_autoptr (GradusJsonArray) values = NULL;

  gradus_json_require (config, "boundaries", "values", NULL);
  boundaries = gradus_json_array (config, "boundaries", GRADUS_SCHEDULE_MAX_BOUNDARIES);
  values = gradus_json_array (config, "values", GRADUS_SCHEDULE_MAX_BOUNDARIES + 1);
  if (boundaries == NULL || values == NULL)
    return;
  self->n_boundaries = gradus_json_array_length (boundaries);
  if (self->n_boundaries == 0 || gradus_json_array_length (values) != self->n_boundaries + 1)
    {
      gradus_json_refuse (config, "values",
                          _("There is one value more than there are boundaries, which are at least "
                            "one."));
      return;
    }
  for (guint i = 0; i < self->n_boundaries; i++)
    {
      self->boundaries[i] = gradus_json_array_double (boundaries, i, 0, 1e15);
      if (i > 0 && self->boundaries[i] <= self->boundaries[i - 1])
        gradus_json_array_refuse (boundaries, i, _("Boundaries ascend."));
    }
  for (guint i = 0; i <= self->n_boundaries; i++)
    self->values[i] = gradus_json_array_double (values, i, 0, 1e6);
}

/* What a formula is about: the updates done before. */
static const char *const         formula_names[] = { "step", NULL };
static const GradusScheduleClass formula_class = { "Formula", { { NULL } }, NULL };

static gboolean
read_formula (GradusSchedule *self, GradusJsonObject *object)
{
  const char               *text = gradus_json_string (object, "formula", NULL);
  g_autoptr (GError)        error = NULL;
  g_autoptr (GradusFormula) formula = NULL;
  g_autoptr (GradusFormulaNumber) number = NULL;

  if (text == NULL)
    return FALSE;
  formula = gradus_formula_parse (text, &error);
  number = formula != NULL ? gradus_formula_number_new (formula, formula_names, &error) : NULL;
  if (number == NULL)
    {
      gradus_json_refuse (object, "formula", "%s", error->message);
      return FALSE;
    }
  if (!(gradus_formula_number_evaluate (number, &(double){ 0 }) >= 0))
    gradus_json_refuse (object, "formula", _("At step 0 this rate is no number from 0 on."));
  *self = (GradusSchedule){ .klass = &formula_class, .formula = g_intern_string (text) };
  return gradus_json_end (object, NULL);
}

/* The formulas met, made ready: one for all runs of a process, since the text says all. */
static double
formula_value (const char *text, double step)
{
  static GMutex        lock;
  static GHashTable   *ready; /* text -> GradusFormulaNumber */
  GradusFormulaNumber *number;
  double               value = 0;

  g_mutex_lock (&lock);
  if (ready == NULL)
    ready = g_hash_table_new_full (g_direct_hash, g_direct_equal, NULL, (GDestroyNotify) gradus_formula_number_free);
  number = g_hash_table_lookup (ready, text);
  if (number == NULL)
    {
      g_autoptr (GradusFormula) formula = gradus_formula_parse (text, NULL);

      number = formula != NULL ? gradus_formula_number_new (formula, formula_names, NULL) : NULL;
      if (number != NULL)
        g_hash_table_insert (ready, (gpointer) text, number);
    }
  if (number != NULL)
    value = gradus_formula_number_evaluate (number, &step);
  g_mutex_unlock (&lock);
  return value;
}

gboolean
gradus_schedule_read (GradusSchedule *self, GradusJsonObject *cursor, const char *key)
{
  g_autoptr (GradusJsonObject) object = gradus_json_object (cursor, key);
  g_autoptr (GradusJsonObject) config = NULL;

  *self = (GradusSchedule){ 0 };
  if (object != NULL && gradus_json_has (object, "formula"))
    return read_formula (self, object);
  if (object == NULL || (self->klass = find_class (object)) == NULL)
    return FALSE;
  gradus_json_ignore (object, "module", "registered_name", "build_config", NULL);
  gradus_json_require (object, "config", NULL);
  if ((config = gradus_json_object (object, "config")) == NULL)
    return FALSE;
  gradus_json_ignore (config, "name", NULL);
  for (guint i = 0; self->klass->args[i].name != NULL; i++)
    self->args[i] = read_arg (&self->klass->args[i], config);
  if (self->klass->value == NULL)
    read_pieces (self, config);
  return gradus_json_end (config, NULL) && gradus_json_end (object, NULL);
}

static JsonArray *
write_list (const double *values, guint n, gboolean whole)
{
  JsonArray *array = json_array_new ();

  for (guint i = 0; i < n; i++)
    if (whole && values[i] == floor (values[i]))
      json_array_add_int_element (array, values[i]);
    else
      json_array_add_double_element (array, values[i]);
  return array;
}

static void
write_arg (const GradusScheduleArg *arg, double value, JsonObject *config)
{
  if (arg->choices == flags)
    json_object_set_boolean_member (config, arg->name, value != 0);
  else if (arg->choices != NULL)
    json_object_set_string_member (config, arg->name, arg->choices[(guint) value]);
  else if (isnan (value))
    json_object_set_null_member (config, arg->name);
  else if (g_str_has_suffix (arg->name, "_steps") && value == floor (value))
    json_object_set_int_member (config, arg->name, value);
  else
    json_object_set_double_member (config, arg->name, value);
}

JsonNode *
gradus_schedule_write (const GradusSchedule *self)
{
  JsonObject *object = json_object_new ();
  JsonObject *config;
  JsonNode   *node = json_node_new (JSON_NODE_OBJECT);

  if (self->formula != NULL)
    {
      json_object_set_string_member (object, "formula", self->formula);
      json_node_take_object (node, object);
      return node;
    }
  config = json_object_new ();
  for (guint i = 0; self->klass->args[i].name != NULL; i++)
    write_arg (&self->klass->args[i], self->args[i], config);
  if (self->klass->value == NULL)
    {
      json_object_set_array_member (config, "boundaries",
                                    write_list (self->boundaries, self->n_boundaries, TRUE));
      json_object_set_array_member (config, "values",
                                    write_list (self->values, self->n_boundaries + 1, FALSE));
    }
  json_object_set_string_member (object, "class_name", self->klass->class_name);
  json_object_set_object_member (object, "config", config);
  json_node_take_object (node, object);
  return node;
}

double
gradus_schedule_value (const GradusSchedule *self, gint64 step)
{
  guint i = 0;

  if (self->formula != NULL)
    return formula_value (self->formula, step);
  if (self->klass->value != NULL)
    return self->klass->value (self->args, step);
  while (i < self->n_boundaries && step > self->boundaries[i])
    i++;
  return self->values[i];
}
