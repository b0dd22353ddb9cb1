/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-chart-private.h"

#include <glib/gi18n-lib.h>
#include <math.h>

#define SPEECH_INTERVAL G_USEC_PER_SEC

static void
say (GradusChart *self, char *text)
{
  if (g_strcmp0 (text, self->spoken) == 0)
    {
      g_free (text);
      return;
    }
  g_free (self->spoken);
  self->spoken = text;
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, text, -1);
}

static gboolean
speak_cb (gpointer data)
{
  GradusChart *self = data;

  self->speech_timeout = 0;
  self->spoken_at = g_get_monotonic_time ();
  say (self, gradus_chart_summarize (self));
  return G_SOURCE_REMOVE;
}

void
gradus_chart_speak (GradusChart *self)
{
  gint64 since = g_get_monotonic_time () - self->spoken_at;

  if (self->speech_timeout != 0)
    return;
  if (since >= SPEECH_INTERVAL)
    speak_cb (self);
  else
    self->speech_timeout = g_timeout_add ((guint) ((SPEECH_INTERVAL - since) / 1000 + 1), speak_cb, self);
}

void
gradus_chart_speak_cursor (GradusChart *self)
{
  double           x = gradus_axis_get_cursor (self->axis);
  g_autofree char *place = NULL;
  GString         *text;

  if (isnan (x))
    {
      gradus_chart_speak (self);
      return;
    }
  place = gradus_chart_format_x (self, x);
  text = g_string_new (place);
  for (guint i = 0; i < self->lines->len; i++)
    {
      GradusChartLine *line = g_ptr_array_index (self->lines, i);
      GradusPoint      point;

      if (gradus_chart_is_focus (self, line)
          && gradus_series_get_nearest (gradus_line_get_series (line->line), self->plot.kind, x, &point))
        {
          g_autofree char *value = gradus_format_value (point.value, self->unit);
          const char      *name = gradus_line_get_name (line->line);

          /* Translators: what stands between the parts of a spoken list. */
          g_string_append_printf (text, "%s%s %s", _(", "), *name != '\0' ? name : self->title,
                                  value);
        }
    }
  self->spoken_at = g_get_monotonic_time ();
  say (self, g_string_free (text, FALSE));
}

static void
append_part (GString *text, const char *name, char *value)
{
  g_string_append_printf (text, "%s%s%s%s", text->len > 0 ? _(", ") : "", name,
                          *name != '\0' ? " " : "", value);
  g_free (value);
}

/* "train 0.075", and "best 0.218 at step 10 320". */
static void
summarize_line (GradusChart *self, const GradusChartLine *line, GString *text, guint64 *n_not_finite)
{
  GradusSeries   *series = gradus_line_get_series (line->line);
  GradusLineFlags flags = gradus_line_get_flags (line->line);
  GradusPoint     last, best;
  GradusColumn    all;

  if (!gradus_series_get_last (series, &last))
    return;
  append_part (text, gradus_line_get_name (line->line), gradus_format_value (last.value, self->unit));
  if ((flags & (GRADUS_LINE_BEST_LOWEST | GRADUS_LINE_BEST_HIGHEST)) != 0
      && gradus_series_get_extreme (series, (flags & GRADUS_LINE_BEST_HIGHEST) != 0, &best))
    {
      g_autofree char *value = gradus_format_value (best.value, self->unit);
      g_autofree char *step = gradus_format_count (best.step);

      /* Translators: the best value of a curve and the step of training it was reached at. */
      append_part (text, "", g_strdup_printf (_("best %s at step %s"), value, step));
    }
  gradus_series_reduce (series, GRADUS_X_STEP, -1.0, (double) last.step + 1.0, 1, &all);
  *n_not_finite += all.n_nan + all.n_positive_infinite + all.n_negative_infinite;
}

/* Other runs that are named with their values; more are counted. */
#define MAX_SPOKEN_RUNS 3

/* "; run cnn-6 train 0.081, validation 0.252, best 0.249 at step 9 380". */
static void
summarize_other_runs (GradusChart *self, GString *text)
{
  g_autoptr (GArray) runs = g_array_new (FALSE, FALSE, sizeof (gint64));
  guint64 n_not_finite = 0;

  for (guint i = 0; i < self->lines->len; i++)
    {
      GradusChartLine *line = g_ptr_array_index (self->lines, i);
      gint64           run = gradus_line_get_run (line->line);
      gboolean         known = gradus_chart_is_focus (self, line);

      for (guint k = 0; !known && k < runs->len; k++)
        known = g_array_index (runs, gint64, k) == run;
      if (!known)
        g_array_append_val (runs, run);
    }

  for (guint k = 0; k < MIN (runs->len, MAX_SPOKEN_RUNS); k++)
    {
      g_autoptr (GString) values = g_string_new (NULL);
      const char *name = "";

      for (guint i = 0; i < self->lines->len; i++)
        {
          GradusChartLine *line = g_ptr_array_index (self->lines, i);

          if (gradus_line_get_run (line->line) != g_array_index (runs, gint64, k))
            continue;
          name = gradus_line_get_run_name (line->line);
          summarize_line (self, line, values, &n_not_finite);
        }
      /* Translators: name of another run in the same chart, its values. */
      if (values->len > 0)
        g_string_append_printf (text, _("; run %s %s"), name, values->str);
    }

  if (runs->len > MAX_SPOKEN_RUNS)
    g_string_append_printf (text,
                            ngettext ("; %u other run", "; %u other runs", runs->len - MAX_SPOKEN_RUNS),
                            runs->len - MAX_SPOKEN_RUNS);
}

char *
gradus_chart_summarize (GradusChart *self)
{
  g_autoptr (GString) values = g_string_new (NULL);
  GradusChartLine *first;
  guint64          n_not_finite = 0;
  g_autofree char *outside = NULL;
  GString         *text;
  const char      *run;

  g_return_val_if_fail (GRADUS_IS_CHART (self), NULL);

  for (guint i = 0; i < self->lines->len; i++)
    {
      GradusChartLine *line = g_ptr_array_index (self->lines, i);

      if (gradus_chart_is_focus (self, line))
        summarize_line (self, line, values, &n_not_finite);
    }
  first = gradus_chart_get_focus_line (self);
  run = first != NULL ? gradus_line_get_run_name (first->line) : "";
  text = g_string_new (NULL);
  if (values->len == 0)
    /* Translators: what a screen reader says of an empty chart; %s is its title. */
    g_string_printf (text, _("%s: no values yet"), self->title);
  else if (*run == '\0')
    g_string_printf (text, _("%s: %s"), self->title, values->str);
  else
    /* Translators: title of a chart, name of a run, its values. */
    g_string_printf (text, _("%s: run %s %s"), self->title, run, values->str);

  if (n_not_finite > 0)
    {
      g_autofree char *count = gradus_format_count ((gint64) n_not_finite);

      g_string_append_printf (text, ngettext (", %s value is not finite", ", %s values are not finite",
                                              (gulong) n_not_finite),
                              count);
    }
  outside = gradus_chart_describe_outside (self);
  if (outside != NULL)
    /* Translators: "highest 1 500", a value that the chart leaves out. */
    g_string_append_printf (text, _(", outside of what is shown: %s"), outside);
  summarize_other_runs (self, text);
  return g_string_free (text, FALSE);
}
