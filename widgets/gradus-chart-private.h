/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-chart.h"
#include "gradus-palette.h"
#include "gradus-ticks.h"

G_BEGIN_DECLS

/* The parts of a chart. Each layer is a widget of its own, because they change at different rates:
   the frame when the ranges change, the data with each new point, the cursor with each motion. */

/* Where the lines are drawn, in pixels of the layers, and what range is shown there. */
typedef struct
{
  double      left, top, width, height;
  double      x0, x1;
  double      y0, y1;
  GradusXKind kind;
  GradusScale scale;
} GradusPlot;

double gradus_plot_get_px (const GradusPlot *plot, double x);
double gradus_plot_get_py (const GradusPlot *plot, double y);
double gradus_plot_get_x (const GradusPlot *plot, double px);

/* A series cut to what is in view: its points if they are few, else a column for each pixel. */
typedef struct
{
  gboolean      dense;
  guint         n_columns;
  guint         n_points;
  GradusColumn *columns;
  GradusPoint  *points;
} GradusTrace;

void gradus_trace_clear (GradusTrace *trace);

/* Reads @series anew; @n_columns is the width in device pixels. */
void gradus_trace_read (GradusTrace *trace, GradusSeries *series, const GradusPlot *plot, guint n_columns);

/* Whether two traces would be drawn alike in the same plot. */
gboolean gradus_trace_equal (const GradusTrace *a, const GradusTrace *b);

/* Calls for the lowest and highest finite value in view, or with @robust the percentiles. */
gboolean gradus_trace_get_range (const GradusTrace *trace,
                                 const GradusPlot  *plot,
                                 gboolean           robust,
                                 double            *low,
                                 double            *high);

/* A line on the edge of the plot is drawn in its full width. */
#define GRADUS_CLIP_SLACK 2.0f

/* A piece of a line as it was recorded. An unchanged piece is drawn with the same node, which the
   renderer then knows not to paint again: a live line costs its last piece only. */
typedef struct
{
  GskRenderNode *node; /* NULL if the piece lies outside of the plot */
  gpointer       data; /* GradusVertex or GradusBox, owned */
  guint          size; /* of @data, in bytes */
  double         width; /* of the stroke; 0 for boxes */
  GdkRGBA        color;
} GradusChartPiece;

/* See gradus-chart-pieces.h. */
typedef struct
{
  GArray    *pieces; /* GradusChartPiece, in drawing order */
  guint      n;      /* drawn so far in this frame */
  GradusPlot plot;   /* where they were drawn */
} GradusChartPieces;

typedef struct
{
  GradusLine   *line;
  GradusSeries *smooth; /* NULL while not smoothed */
  double        smooth_weight;
  GradusTrace   raw;
  GradusTrace   smoothed;
  gboolean      has_best, has_last;
  GradusPoint   best;
  GradusPoint   last;
  GradusChartPieces behind; /* bands and areas */
  GradusChartPieces front;  /* the line itself */
} GradusChartLine;

struct _GradusChart
{
  GtkWidget parent_instance;

  /* Children */
  GtkWidget *header;
  GtkWidget *title_label;
  GtkWidget *values;
  GtkWidget *overlay;
  GtkWidget *frame;
  GtkWidget *data;
  GtkWidget *cursor;

  /* Owned */
  GradusAxis *axis;
  GListModel *marks;
  GPtrArray  *lines;         /* GradusChartLine, in drawing order as added */
  GPtrArray  *line_objects;  /* GradusLine, the same */
  char       *title;
  char       *reference_label;
  char       *note;
  char       *spoken;

  /* What is asked for */
  GradusUnit  unit;
  GradusScale scale;
  gboolean    robust;
  gboolean    mark_labels;
  gboolean    focus_run_set;
  gint64      focus_run;
  double      smoothing;
  double      reference;
  double      y_lower, y_upper;

  /* What is shown */
  GradusPlot    plot;
  GradusTicks   x_ticks;
  GradusTicks   y_ticks; /* in values times y_factor */
  double        y_factor;
  const char   *y_unit;
  GradusPalette palette;
  int           width, height; /* of the layers */
  double        label_width;   /* of the widest label of y */
  double        outside_high, outside_low; /* the farthest values out of the range of y; or NaN */

  /* Updates */
  guint    tick;
  guint    speech_timeout;
  gint64   spoken_at;
  gboolean palette_valid;
  gboolean updating;

  /* Input */
  double   pointer_x, pointer_y; /* NaN when away */
  double   drag_x0, drag_x1;     /* pixels; NaN unless a span is dragged */
  gboolean drag_selects;
  gboolean drag_pans;
  double   drag_last;
  double   velocity; /* of a kinetic scroll, pixels a second */
  gint64   velocity_time;
  guint    kinetic_tick;
};

/* gradus-chart.c */
void             gradus_chart_queue_update (GradusChart *self);
void             gradus_chart_resized (GradusChart *self, int width, int height);
GradusChartLine *gradus_chart_get_focus_line (GradusChart *self);
gint64           gradus_chart_get_focus (GradusChart *self);
gboolean         gradus_chart_is_focus (GradusChart *self, const GradusChartLine *line);
char            *gradus_chart_format_x (GradusChart *self, double x);

/* Where a mark stands; FALSE if its run has no line here or its place cannot be said. */
gboolean gradus_chart_locate_mark (GradusChart *self, GradusMark *mark, double *x0, double *x1);

/* The mark whose triangle is at (@px, @py); NULL if none. Borrowed. */
GradusMark *gradus_chart_find_mark (GradusChart *self, double px, double py);

/* gradus-chart-update.c: reads the series for the present size and ranges and queues the drawing of
   what changed. */
void  gradus_chart_update (GradusChart *self);
char *gradus_chart_format_x_tick (GradusChart *self, guint i);
char *gradus_chart_format_y_tick (GradusChart *self, guint i);

/* gradus-chart-outside.c: what lies beyond the range of y that the chart chose. Measuring returns
   whether it differs from before; the words are NULL if nothing does. */
gboolean gradus_chart_measure_outside  (GradusChart *self);
char    *gradus_chart_describe_outside (GradusChart *self);
void     gradus_chart_draw_outside     (const GradusChart     *self,
                                        GtkSnapshot           *snapshot,
                                        const GradusChartLine *line);

/* gradus-chart-{frame,data,cursor,values}.c: the layers; each knows its chart, not owned. */
GtkWidget *gradus_chart_frame_new (GradusChart *chart);
GtkWidget *gradus_chart_data_new (GradusChart *chart);
GtkWidget *gradus_chart_cursor_new (GradusChart *chart);
GtkWidget *gradus_chart_values_new (GradusChart *chart);

/* gradus-chart-input.c */
void     gradus_chart_add_controllers (GradusChart *self);
gboolean gradus_chart_key (GradusChart *self, guint keyval, GdkModifierType state);

/* gradus-chart-speech.c: brings the accessible description up to date, now or when a second has
   passed; with @cursor at once, with the values at the cursor. */
void gradus_chart_speak (GradusChart *self);
void gradus_chart_speak_cursor (GradusChart *self);

G_END_DECLS
