/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "gradus-feed.h"

/* Rows of one series in one update, and of all series of a run: a few ms to read and to append. */
#define ROWS_PER_SERIES 20000
#define ROWS_PER_UPDATE 60000
/* Updates that the main loop may have before it. */
#define MAX_PENDING 2
/* The whole list may take this share of the thread's time. */
#define LIST_SHARE 20
#define SPARK_POINTS 32
/* A spark line is too small to be worth drawing more often. */
#define SPARK_US G_USEC_PER_SEC
#define RECENT_STEPS 64
#define MAX_HISTOGRAMS 60

typedef struct
{
  gint64 last;
  gint64 generation;
} Position;

/* How far a tracked run has been read. */
typedef struct
{
  gint64      run;
  guint       ticket;
  GHashTable *positions; /* series id -> Position */
  gint64      generations; /* sum over the series */
  gint64      last_event;
  guint       n_events;
  gint64      checkpoints_mark;
  guint       n_variables;
  char       *variable;
  gint64      last_histogram;
  gint64      histogram_generation;
  guint       n_histograms;
} Tracked;

/* What the list showed of a run when it was last read. */
typedef struct
{
  gint64          last_step;
  GradusRunStatus status;
  gint64          spark_at;
  gboolean        has_details;
  gboolean        has_parameters;
} Listed;

struct _GradusFeed
{
  gatomicrefcount ref_count;
  GradusLogWatch *watch;
  GradusFeedFunc  func;
  gpointer        user_data;

  /* Any thread */
  GMutex   lock;
  GArray  *wanted; /* of GradusFeedTrack */
  gint64   focus;
  char    *variable;
  gboolean refresh;
  gboolean starved;
  gint     pending;
  gboolean closed; /* main thread */

  /* Watch thread */
  GHashTable *tracked; /* run -> Tracked */
  GHashTable *listed;  /* run -> Listed */
  GArray     *live;    /* ids of the runs that move */
  gint64      listed_at;
  gint64      list_cost;
  guint       late_poke; /* main thread: source id */
};

typedef struct
{
  GradusFeed       *feed;
  GradusFeedUpdate *update;
  gboolean          list_is_stale;
} Delivery;

static void
feed_run_free (gpointer data)
{
  GradusFeedRun *run = data;

  g_clear_pointer (&run->info, gradus_run_info_free);
  g_clear_pointer (&run->details, gradus_run_details_free);
  g_clear_pointer (&run->spark, g_array_unref);
  g_free (run);
}

static void
feed_points_free (gpointer data)
{
  GradusFeedPoints *points = data;

  g_free (points->name);
  g_clear_pointer (&points->steps, g_array_unref);
  g_clear_pointer (&points->times, g_array_unref);
  g_clear_pointer (&points->values, g_array_unref);
  g_free (points);
}

static void
feed_detail_free (gpointer data)
{
  GradusFeedDetail *detail = data;

  g_clear_pointer (&detail->points, g_ptr_array_unref);
  g_clear_pointer (&detail->recent, g_ptr_array_unref);
  g_clear_pointer (&detail->events, g_ptr_array_unref);
  g_clear_pointer (&detail->checkpoints, g_ptr_array_unref);
  g_clear_pointer (&detail->variables, g_ptr_array_unref);
  g_clear_pointer (&detail->histograms, g_ptr_array_unref);
  g_free (detail);
}

static GradusFeedUpdate *
feed_update_new (void)
{
  GradusFeedUpdate *update = g_new0 (GradusFeedUpdate, 1);

  update->runs = g_ptr_array_new_with_free_func (feed_run_free);
  update->details = g_ptr_array_new_with_free_func (feed_detail_free);

  return update;
}

static void
feed_update_free (GradusFeedUpdate *update)
{
  g_ptr_array_unref (update->runs);
  g_ptr_array_unref (update->details);
  g_clear_error (&update->error);
  g_free (update);
}

static void
tracked_free (gpointer data)
{
  Tracked *tracked = data;

  g_hash_table_unref (tracked->positions);
  g_free (tracked->variable);
  g_free (tracked);
}

static void
feed_unref (GradusFeed *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;

  g_mutex_clear (&self->lock);
  g_array_unref (self->wanted);
  g_array_unref (self->live);
  g_hash_table_unref (self->tracked);
  g_hash_table_unref (self->listed);
  g_free (self->variable);
  g_free (self);
}

/* ---- Points ---- */

/* Only what a chart or the panel shows is kept in memory. */
static gboolean
is_charted (const GradusSeriesInfo *info)
{
  static const char *const names[] = {
    "epoch", "gradient_norm", "learning_rate", "throughput", "memory/device/current",
    "memory/device/peak", "memory/host/current", "memory/host/peak", "loss_scale",
  };

  if (info->kind != GRADUS_SERIES_SCALAR)
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (g_str_equal (info->name, names[i]))
      return TRUE;

  return g_str_has_prefix (info->name, "train/") || g_str_has_prefix (info->name, "validation/") ||
         g_str_has_prefix (info->name, "test/");
}

static GradusFeedPoints *
feed_points_new (const char *name, gsize n)
{
  GradusFeedPoints *points = g_new0 (GradusFeedPoints, 1);

  points->name = g_strdup (name);
  points->cut = G_MAXINT64;
  points->steps = g_array_sized_new (FALSE, FALSE, sizeof (gint64), n);
  points->times = g_array_sized_new (FALSE, FALSE, sizeof (gint64), n);
  points->values = g_array_sized_new (FALSE, FALSE, sizeof (double), n);

  return points;
}

static void
feed_points_add (GradusFeedPoints *points, gint64 step, gint64 time, double value)
{
  g_array_append_val (points->steps, step);
  g_array_append_val (points->times, time);
  g_array_append_val (points->values, value);
}

static Position *
position_of (Tracked *tracked, gint64 series)
{
  Position *position = g_hash_table_lookup (tracked->positions, &series);

  if (position == NULL)
    {
      position = g_new0 (Position, 1);
      position->last = G_MININT64;
      position->generation = -1;
      g_hash_table_insert (tracked->positions, g_memdup2 (&series, sizeof series), position);
    }

  return position;
}

static gboolean
read_points (GradusLogReader        *reader,
             Tracked                *tracked,
             const GradusSeriesInfo *info,
             gsize                  *budget,
             GradusFeedDetail       *detail,
             GError                **error)
{
  Position *position = position_of (tracked, info->id);
  gboolean anew = position->generation >= 0 && position->generation != info->generation;
  g_autoptr (GArray) rows = NULL;
  gsize limit = MIN (*budget, ROWS_PER_SERIES);
  GradusFeedPoints *points;

  position->generation = info->generation;
  if (anew)
    position->last = G_MININT64;
  if (!anew && (info->count == 0 || position->last >= info->last_step))
    return TRUE;
  if (limit == 0)
    {
      detail->complete = FALSE;
      return TRUE;
    }

  rows = g_array_new (FALSE, FALSE, sizeof (GradusScalar));
  if (!gradus_log_reader_scalars (reader, info->id, position->last, limit, rows, error))
    return FALSE;

  points = feed_points_new (info->name, rows->len);
  if (anew)
    points->cut = G_MININT64;
  for (guint i = 0; i < rows->len; i++)
    {
      const GradusScalar *row = &g_array_index (rows, GradusScalar, i);

      feed_points_add (points, row->step, row->time, row->value);
      position->last = row->step;
    }
  *budget -= rows->len;
  if (position->last < info->last_step && rows->len > 0)
    detail->complete = FALSE;
  g_ptr_array_add (detail->points, points);

  return TRUE;
}

/* Times of a step jump about; their mean over the last steps is what one can read. */
static gboolean
read_recent (GradusLogReader        *reader,
             const GradusSeriesInfo *info,
             GradusFeedDetail       *detail,
             GError                **error)
{
  GradusLogColumn column = { 0 };
  GradusFeedPoints *points;
  gint64 first = MAX (info->first_step, info->last_step - RECENT_STEPS + 1);

  if (info->count == 0)
    return TRUE;
  if (!gradus_log_reader_columns (reader, info->id, first, info->last_step, 1, &column, error))
    return FALSE;

  points = feed_points_new (info->name, 1);
  feed_points_add (points, info->last_step, info->last_time,
                   column.count > 0 ? column.sum / column.count : NAN);
  g_ptr_array_add (detail->recent, points);

  return TRUE;
}

/* ---- Histograms ---- */

static gboolean
read_histograms (GradusLogReader        *reader,
                 Tracked                *tracked,
                 const GradusSeriesInfo *info,
                 GradusFeedDetail       *detail,
                 GError                **error)
{
  gboolean anew = g_strcmp0 (tracked->variable, info->name) != 0 ||
                  tracked->histogram_generation != info->generation ||
                  tracked->n_histograms > 2 * MAX_HISTOGRAMS;

  if (!anew && tracked->last_histogram >= info->last_step)
    return TRUE;

  detail->histograms = gradus_log_reader_histograms (
    reader, info->id, anew ? G_MININT64 : tracked->last_histogram + 1, G_MAXINT64, MAX_HISTOGRAMS,
    error);
  if (detail->histograms == NULL)
    return FALSE;

  detail->histograms_anew = anew;
  if (anew)
    tracked->n_histograms = 0;
  tracked->n_histograms += detail->histograms->len;
  tracked->last_histogram = info->last_step;
  tracked->histogram_generation = info->generation;
  g_free (tracked->variable);
  tracked->variable = g_strdup (info->name);

  return TRUE;
}

static int
compare_series (gconstpointer a, gconstpointer b)
{
  const GradusSeriesInfo *left = *(const GradusSeriesInfo *const *) a;
  const GradusSeriesInfo *right = *(const GradusSeriesInfo *const *) b;

  return (left->id > right->id) - (left->id < right->id);
}

/* In the order in which the run recorded them, which is the model's. */
static GPtrArray *
names_in_order (GPtrArray *infos)
{
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);

  g_ptr_array_sort (infos, compare_series);
  for (guint i = 0; i < infos->len; i++)
    g_ptr_array_add (names, g_strdup (((GradusSeriesInfo *) g_ptr_array_index (infos, i))->name));

  return names;
}

static gboolean
read_series (GradusFeed       *self,
             GradusLogReader  *reader,
             Tracked          *tracked,
             const char       *variable,
             gboolean          focused,
             GradusFeedDetail *detail,
             GError          **error)
{
  g_autoptr (GPtrArray) all = gradus_log_reader_series (reader, tracked->run, error);
  g_autoptr (GPtrArray) variables = g_ptr_array_new ();
  const GradusSeriesInfo *chosen = NULL;
  gsize budget = ROWS_PER_UPDATE;
  gint64 generations = 0;

  if (all == NULL)
    return FALSE;

  for (guint i = 0; i < all->len; i++)
    {
      const GradusSeriesInfo *info = g_ptr_array_index (all, i);

      generations += info->generation;
      if (is_charted (info) && !read_points (reader, tracked, info, &budget, detail, error))
        return FALSE;
      if (focused && g_str_has_prefix (info->name, "time/") &&
          info->kind == GRADUS_SERIES_SCALAR && !read_recent (reader, info, detail, error))
        return FALSE;
      if (info->kind == GRADUS_SERIES_HISTOGRAM)
        {
          g_ptr_array_add (variables, (gpointer) info);
          if (chosen == NULL && variable == NULL && g_str_has_prefix (info->name, "weight/"))
            chosen = info;
          if (variable != NULL && g_str_equal (info->name, variable))
            chosen = info;
        }
    }

  if (focused && chosen != NULL && !read_histograms (reader, tracked, chosen, detail, error))
    return FALSE;

  /* Rows went, and events with them. */
  if (generations != tracked->generations)
    tracked->n_events = G_MAXUINT;
  tracked->generations = generations;
  if (variables->len != tracked->n_variables)
    {
      tracked->n_variables = variables->len;
      detail->variables = names_in_order (variables);
    }

  return TRUE;
}

static gint64
mark_of_checkpoints (GPtrArray *checkpoints)
{
  gint64 mark = checkpoints->len;

  for (guint i = 0; i < checkpoints->len; i++)
    {
      const GradusLogCheckpoint *checkpoint = g_ptr_array_index (checkpoints, i);

      mark = mark * 31 + checkpoint->id * 4 + checkpoint->best * 2 + checkpoint->pinned;
    }

  return mark;
}

static gboolean
read_rows (GradusLogReader *reader, Tracked *tracked, GradusFeedDetail *detail, GError **error)
{
  g_autoptr (GPtrArray) events = NULL;
  g_autoptr (GPtrArray) checkpoints = NULL;
  gboolean anew = tracked->n_events == G_MAXUINT;

  events = gradus_log_reader_events (reader, tracked->run, anew ? 0 : tracked->last_event, error);
  if (events == NULL)
    return FALSE;
  if (events->len > 0 && !anew)
    {
      g_ptr_array_unref (events);
      events = gradus_log_reader_events (reader, tracked->run, 0, error);
      if (events == NULL)
        return FALSE;
      anew = TRUE;
    }
  if (anew)
    {
      const GradusLogEvent *last = events->len > 0 ? g_ptr_array_index (events, events->len - 1)
                                                   : NULL;

      tracked->last_event = last != NULL ? last->id : 0;
      tracked->n_events = events->len;
      detail->events = g_steal_pointer (&events);
    }

  checkpoints = gradus_log_reader_checkpoints (reader, tracked->run, error);
  if (checkpoints == NULL)
    return FALSE;
  if (mark_of_checkpoints (checkpoints) != tracked->checkpoints_mark)
    {
      tracked->checkpoints_mark = mark_of_checkpoints (checkpoints);
      detail->checkpoints = g_steal_pointer (&checkpoints);
    }

  return TRUE;
}

static Tracked *
tracked_of (GradusFeed *self, const GradusFeedTrack *track)
{
  Tracked *tracked = g_hash_table_lookup (self->tracked, &track->run);

  if (tracked == NULL || tracked->ticket != track->ticket)
    {
      tracked = g_new0 (Tracked, 1);
      tracked->run = track->run;
      tracked->ticket = track->ticket;
      tracked->positions = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
      tracked->n_events = G_MAXUINT;
      tracked->checkpoints_mark = -1;
      tracked->histogram_generation = -1;
      g_hash_table_replace (self->tracked, g_memdup2 (&track->run, sizeof track->run), tracked);
    }

  return tracked;
}

static gboolean
is_wanted (GArray *wanted, gint64 run)
{
  for (guint i = 0; i < wanted->len; i++)
    if (g_array_index (wanted, GradusFeedTrack, i).run == run)
      return TRUE;

  return FALSE;
}

/* Returns whether something is left to be read. */
static gboolean
read_details (GradusFeed *self, GradusLogReader *reader, GradusFeedUpdate *update)
{
  g_autoptr (GArray) wanted = NULL;
  g_autofree char *variable = NULL;
  GHashTableIter iter;
  gpointer key;
  gint64 focus;
  gboolean left = FALSE;

  g_mutex_lock (&self->lock);
  wanted = g_array_copy (self->wanted);
  focus = self->focus;
  variable = g_strdup (self->variable);
  g_mutex_unlock (&self->lock);

  g_hash_table_iter_init (&iter, self->tracked);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    if (!is_wanted (wanted, *(gint64 *) key))
      g_hash_table_iter_remove (&iter);

  for (guint i = 0; i < wanted->len; i++)
    {
      const GradusFeedTrack *track = &g_array_index (wanted, GradusFeedTrack, i);
      Tracked *tracked = tracked_of (self, track);
      GradusFeedDetail *detail = g_new0 (GradusFeedDetail, 1);
      g_autoptr (GError) error = NULL;

      detail->run = track->run;
      detail->ticket = track->ticket;
      detail->complete = TRUE;
      detail->points = g_ptr_array_new_with_free_func (feed_points_free);
      detail->recent = g_ptr_array_new_with_free_func (feed_points_free);
      g_ptr_array_add (update->details, detail);

      /* A run that was deleted in between has nothing to tell. */
      if (!read_series (self, reader, tracked, variable, track->run == focus, detail, &error) ||
          !read_rows (reader, tracked, detail, &error))
        {
          if (!g_error_matches (error, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND))
            g_propagate_error (update->error == NULL ? &update->error : NULL,
                               g_steal_pointer (&error));
          continue;
        }
      left |= !detail->complete;
    }

  return left;
}

/* ---- The list ---- */

static GArray *
read_spark (GradusLogReader *reader, gint64 run)
{
  g_autoptr (GradusSeriesInfo) info = NULL;
  GradusLogColumn columns[SPARK_POINTS] = { 0 };
  GArray *spark;

  info = gradus_log_reader_find_series (reader, run, "validation/loss", NULL);
  if (info == NULL || info->count == 0)
    {
      g_clear_pointer (&info, gradus_series_info_free);
      info = gradus_log_reader_find_series (reader, run, "train/loss", NULL);
    }
  if (info == NULL || info->count == 0)
    return NULL;
  if (!gradus_log_reader_columns (reader, info->id, info->first_step, info->last_step,
                                  SPARK_POINTS, columns, NULL))
    return NULL;

  spark = g_array_new (FALSE, FALSE, sizeof (double));
  for (guint i = 0; i < SPARK_POINTS; i++)
    {
      gint64 finite = columns[i].count - columns[i].n_nan - columns[i].n_pinf - columns[i].n_ninf;
      double value = finite > 0 ? columns[i].sum / finite : NAN;

      if (finite > 0)
        g_array_append_val (spark, value);
    }

  return spark;
}

static GradusRunDetails *
read_recipe (GradusLogReader *reader, gint64 run)
{
  g_autofree char *text = gradus_log_reader_recipe (reader, run, NULL);
  g_autoptr (GradusRecipe) recipe = NULL;

  if (text == NULL || *text == '\0')
    return NULL;
  recipe = gradus_recipe_parse (text, "/", "recipe", NULL);

  return recipe != NULL ? gradus_run_details_new (recipe) : NULL;
}

static gboolean
is_moving (const GradusRunInfo *info)
{
  return info->status == GRADUS_RUN_RUNNING || info->status == GRADUS_RUN_PAUSED ||
         info->status == GRADUS_RUN_QUEUED;
}

/* (transfer full) @info */
static void
list_run (GradusFeed *self, GradusLogReader *reader, GradusRunInfo *info, GradusFeedUpdate *update)
{
  Listed *listed = g_hash_table_lookup (self->listed, &info->id);
  GradusFeedRun *run = g_new0 (GradusFeedRun, 1);
  gboolean known = listed != NULL;
  gint64 now = g_get_monotonic_time ();

  run->info = info;
  if (!known)
    {
      listed = g_new0 (Listed, 1);
      g_hash_table_insert (self->listed, g_memdup2 (&info->id, sizeof info->id), listed);
    }
  if (!listed->has_details)
    {
      run->details = read_recipe (reader, info->id);
      listed->has_details = run->details != NULL;
    }
  if (!known || listed->status != info->status ||
      (listed->last_step != info->last_step && now - listed->spark_at >= SPARK_US))
    {
      run->spark = read_spark (reader, info->id);
      listed->spark_at = now;
    }
  /* They come when the run begins, and never to one that an older version trained. */
  if (!listed->has_parameters && (!known || listed->status != info->status || is_moving (info)))
    {
      run->parameters = MAX (gradus_log_reader_parameters (reader, info->id, NULL), 0);
      listed->has_parameters = run->parameters > 0;
    }
  listed->last_step = info->last_step;
  listed->status = info->status;
  g_ptr_array_add (update->runs, run);
}

static gboolean
read_list (GradusFeed *self, GradusLogReader *reader, GradusFeedUpdate *update)
{
  g_autoptr (GPtrArray) infos = gradus_log_reader_runs (reader, &update->error);

  if (infos == NULL)
    return FALSE;

  g_ptr_array_set_free_func (infos, NULL);
  g_array_set_size (self->live, 0);
  for (guint i = 0; i < infos->len; i++)
    {
      GradusRunInfo *info = g_ptr_array_index (infos, i);

      if (is_moving (info))
        g_array_append_val (self->live, info->id);
      list_run (self, reader, info, update);
    }
  update->all = TRUE;

  return TRUE;
}

static void
read_live (GradusFeed *self, GradusLogReader *reader, GradusFeedUpdate *update)
{
  for (guint i = 0; i < self->live->len; i++)
    {
      gint64 id = g_array_index (self->live, gint64, i);
      GradusRunInfo *info = gradus_log_reader_run (reader, id, NULL);

      if (info != NULL)
        list_run (self, reader, info, update);
    }
}

/* Returns whether the list is older than it should be. */
static gboolean
read_runs (GradusFeed *self, GradusLogReader *reader, GradusFeedUpdate *update)
{
  gint64 now = g_get_monotonic_time ();
  gboolean refresh;

  g_mutex_lock (&self->lock);
  refresh = self->refresh;
  self->refresh = FALSE;
  g_mutex_unlock (&self->lock);

  if (!refresh && self->listed_at != 0 && now - self->listed_at < LIST_SHARE * self->list_cost)
    {
      read_live (self, reader, update);
      return TRUE;
    }

  if (read_list (self, reader, update))
    {
      self->listed_at = now;
      self->list_cost = g_get_monotonic_time () - now;
    }

  return FALSE;
}

/* ---- Between the threads ---- */

static void
late_poke_cb (gpointer data)
{
  GradusFeed *self = data;

  self->late_poke = 0;
  gradus_feed_refresh (self);
}

static gboolean
deliver_cb (gpointer data)
{
  Delivery *delivery = data;
  GradusFeed *self = delivery->feed;
  gboolean starved;

  g_mutex_lock (&self->lock);
  starved = self->starved;
  self->starved = FALSE;
  g_mutex_unlock (&self->lock);
  g_atomic_int_add (&self->pending, -1);

  if (self->closed)
    return G_SOURCE_REMOVE;

  self->func (delivery->update, self->user_data);
  if (delivery->list_is_stale && self->late_poke == 0)
    self->late_poke = g_timeout_add_once (500, late_poke_cb, self);
  if (starved && !self->closed && self->watch != NULL)
    gradus_log_watch_poke (self->watch);

  return G_SOURCE_REMOVE;
}

static void
delivery_free (gpointer data)
{
  Delivery *delivery = data;

  feed_update_free (delivery->update);
  feed_unref (delivery->feed);
  g_free (delivery);
}

static void
log_changed_cb (GradusLogReader *reader, gpointer user_data)
{
  GradusFeed *self = user_data;
  Delivery *delivery;
  gboolean left;

  if (g_atomic_int_get (&self->pending) >= MAX_PENDING)
    {
      g_mutex_lock (&self->lock);
      self->starved = TRUE;
      g_mutex_unlock (&self->lock);
      return;
    }

  delivery = g_new0 (Delivery, 1);
  delivery->feed = self;
  delivery->update = feed_update_new ();
  g_atomic_ref_count_inc (&self->ref_count);

  gradus_log_reader_begin (reader, NULL);
  delivery->list_is_stale = read_runs (self, reader, delivery->update);
  left = delivery->update->error == NULL && read_details (self, reader, delivery->update);
  gradus_log_reader_end (reader);

  g_atomic_int_inc (&self->pending);
  if (left)
    {
      g_mutex_lock (&self->lock);
      self->starved = TRUE;
      g_mutex_unlock (&self->lock);
    }
  g_main_context_invoke_full (NULL, G_PRIORITY_DEFAULT, deliver_cb, delivery, delivery_free);
}

GradusFeed *
gradus_feed_new (GradusWorkspace *workspace,
                 GradusFeedFunc   func,
                 gpointer         user_data,
                 GError         **error)
{
  GradusFeed *self = g_new0 (GradusFeed, 1);

  g_atomic_ref_count_init (&self->ref_count);
  g_mutex_init (&self->lock);
  self->func = func;
  self->user_data = user_data;
  self->wanted = g_array_new (FALSE, FALSE, sizeof (GradusFeedTrack));
  self->live = g_array_new (FALSE, FALSE, sizeof (gint64));
  self->tracked = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, tracked_free);
  self->listed = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);

  self->watch = gradus_log_watch_new (workspace, log_changed_cb, self, error);
  if (self->watch == NULL)
    {
      feed_unref (self);
      return NULL;
    }

  return self;
}

void
gradus_feed_free (GradusFeed *self)
{
  self->closed = TRUE;
  g_clear_handle_id (&self->late_poke, g_source_remove);
  g_clear_pointer (&self->watch, gradus_log_watch_free);
  feed_unref (self);
}

void
gradus_feed_track (GradusFeed            *self,
                   const GradusFeedTrack *tracks,
                   guint                  n,
                   gint64                 focus,
                   const char            *variable)
{
  g_mutex_lock (&self->lock);
  g_array_set_size (self->wanted, 0);
  g_array_append_vals (self->wanted, tracks, n);
  self->focus = focus;
  g_free (self->variable);
  self->variable = g_strdup (variable);
  g_mutex_unlock (&self->lock);

  gradus_log_watch_poke (self->watch);
}

void
gradus_feed_refresh (GradusFeed *self)
{
  g_mutex_lock (&self->lock);
  self->refresh = TRUE;
  g_mutex_unlock (&self->lock);

  gradus_log_watch_poke (self->watch);
}
