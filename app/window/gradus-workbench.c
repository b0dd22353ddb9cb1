/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>
#include <math.h>
#include <string.h>

#include "gradus-format.h"
#include "gradus-palette.h"
#include "gradus-service.h"
#include "gradus-settings.h"
#include "gradus-workbench.h"
#include "gradus-words.h"
#include "log/gradus-run.h"

/* A run that this process trains. */
typedef struct
{
  gboolean moving;          /* the log has shown it queued, running or paused */
  gint64   finished_before; /* of a resumed run: when it had ended before */
} Own;

struct _GradusWorkbench
{
  GObject parent_instance;

  GradusService       *service;
  GradusFeed          *feed;
  GradusWorkbenchState state;
  char                *error;
  char                *read_only_reason;
  char                *stall;

  GListStore    *runs;
  GHashTable    *by_id;  /* id -> GradusRunItem */
  GHashTable    *hidden; /* id set */
  GHashTable    *own;    /* uuid -> Own */
  GHashTable    *data;   /* id -> GradusRunData */
  GHashTable    *tickets; /* id -> ticket */
  GradusRunItem *draft;
  GradusRunItem *focus;
  GradusRunItem *active;
  GradusRunItem *auto_shown; /* shown because it is focused, not because somebody asked */
  char          *focus_uuid; /* to be focused as soon as the log has it */
  GradusSummary *focus_summary; /* what is known of it from its draft; or NULL */
  char          *variable;
  guint          last_ticket;
  guint          submitting;
  gboolean       busy;
  gboolean       listed;
};

G_DEFINE_FINAL_TYPE (GradusWorkbench, gradus_workbench, G_TYPE_OBJECT)

enum
{
  PROP_0,
  PROP_STATE,
  PROP_BUSY,
  PROP_FOCUS,
  PROP_ACTIVE,
  N_PROPS,
};

enum
{
  SIGNAL_RUN_ENDED,
  SIGNAL_REFUSED,
  SIGNAL_STALLED,
  SIGNAL_TROUBLE,
  SIGNAL_SHOWN_CHANGED,
  SIGNAL_FOCUS_DATA,
  N_SIGNALS,
};

static GParamSpec *properties[N_PROPS];
static guint       signals[N_SIGNALS];

static void
tell_trouble (GradusWorkbench *self, const char *message)
{
  g_signal_emit (self, signals[SIGNAL_TROUBLE], 0, message);
}

static gboolean
is_moving (GradusRunItem *item)
{
  const GradusRunInfo *info = gradus_run_item_get_info (item);

  return info != NULL && (info->status == GRADUS_RUN_QUEUED || gradus_run_item_is_live (item));
}

static guint
find_row (GradusWorkbench *self, GradusRunItem *item)
{
  guint position;

  return g_list_store_find (self->runs, item, &position) ? position : GTK_INVALID_LIST_POSITION;
}

/* ---- What is tracked ---- */

static void
forget_untracked (GradusWorkbench *self, GArray *tracks)
{
  GHashTableIter iter;
  gpointer key;

  g_hash_table_iter_init (&iter, self->data);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    {
      gboolean wanted = FALSE;

      for (guint i = 0; i < tracks->len; i++)
        wanted |= g_array_index (tracks, GradusFeedTrack, i).run == *(gint64 *) key;
      if (!wanted)
        {
          g_hash_table_remove (self->tickets, key);
          g_hash_table_iter_remove (&iter);
        }
    }
}

static void
add_track (GradusWorkbench *self, GArray *tracks, GradusRunItem *item)
{
  gint64 id = gradus_run_item_get_id (item);
  GradusFeedTrack track = { id, 0 };
  guint *ticket;

  if (id == 0)
    return;

  ticket = g_hash_table_lookup (self->tickets, &id);
  if (ticket == NULL)
    {
      GradusRunData *data = gradus_run_data_new (id);

      gradus_run_data_set_steps_per_epoch (data, gradus_run_item_get_steps_per_epoch (item));
      g_hash_table_insert (self->data, g_memdup2 (&id, sizeof id), data);
      ticket = g_new (guint, 1);
      *ticket = ++self->last_ticket;
      g_hash_table_insert (self->tickets, g_memdup2 (&id, sizeof id), ticket);
    }
  track.ticket = *ticket;
  g_array_append_val (tracks, track);
}

static void
track (GradusWorkbench *self)
{
  g_autoptr (GArray) tracks = g_array_new (FALSE, FALSE, sizeof (GradusFeedTrack));
  g_autoptr (GPtrArray) shown = gradus_workbench_get_shown (self);
  gboolean focus_is_shown = FALSE;

  for (guint i = 0; i < shown->len; i++)
    {
      add_track (self, tracks, g_ptr_array_index (shown, i));
      focus_is_shown |= g_ptr_array_index (shown, i) == self->focus;
    }
  if (self->focus != NULL && !focus_is_shown)
    add_track (self, tracks, self->focus);

  forget_untracked (self, tracks);
  if (self->feed != NULL)
    gradus_feed_track (self->feed, (const GradusFeedTrack *) (void *) tracks->data, tracks->len,
                       self->focus != NULL ? gradus_run_item_get_id (self->focus) : 0,
                       self->variable);
}

/* ---- What is shown ---- */

static int
free_color (GradusWorkbench *self)
{
  gboolean taken[GRADUS_N_RUN_COLORS] = { FALSE };
  guint n = g_list_model_get_n_items (G_LIST_MODEL (self->runs));

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GradusRunItem) item = g_list_model_get_item (G_LIST_MODEL (self->runs), i);
      int color = gradus_run_item_get_color (item);

      if (color >= 0)
        taken[color % GRADUS_N_RUN_COLORS] = TRUE;
    }
  for (int i = 0; i < GRADUS_N_RUN_COLORS; i++)
    if (!taken[i])
      return i;

  return 0;
}

static void
show_item (GradusWorkbench *self, GradusRunItem *item, gboolean shown)
{
  int color = gradus_run_item_get_color (item);

  if (gradus_run_item_is_draft (item) || shown == (color >= 0))
    return;

  gradus_run_item_set_color (item, shown ? free_color (self) : -1);
  if (self->auto_shown == item)
    g_clear_object (&self->auto_shown);
}

/* ---- Focus ---- */

static void
set_focus (GradusWorkbench *self, GradusRunItem *item)
{
  GradusRunItem *before;

  if (self->focus == item)
    return;

  g_set_object (&self->focus, item);
  g_clear_pointer (&self->variable, g_free);

  before = g_steal_pointer (&self->auto_shown);
  if (item != NULL && gradus_run_item_get_id (item) != 0)
    {
      if (before != NULL && before != item)
        gradus_run_item_set_color (before, -1);
      if (gradus_run_item_get_color (item) < 0)
        {
          show_item (self, item, TRUE);
          self->auto_shown = g_object_ref (item);
        }
    }
  else if (before != NULL)
    self->auto_shown = g_object_ref (before);
  g_clear_object (&before);

  track (self);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_FOCUS]);
  g_signal_emit (self, signals[SIGNAL_SHOWN_CHANGED], 0);
  g_signal_emit (self, signals[SIGNAL_FOCUS_DATA], 0);
}

static void
set_active (GradusWorkbench *self, GradusRunItem *item)
{
  if (g_set_object (&self->active, item))
    g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_ACTIVE]);
}

/* ---- Runs of this process ---- */

static char *
describe_outcome (GradusRunItem *item)
{
  const GradusRunInfo *info = gradus_run_item_get_info (item);
  g_autofree char *loss = gradus_format_value (info->validation_loss, GRADUS_UNIT_NONE);
  g_autofree char *accuracy = gradus_format_percent (info->validation_accuracy);

  if (info->status == GRADUS_RUN_FAILED)
    return g_strdup (_("The run failed. Its log and its last checkpoint are kept."));
  if (info->status == GRADUS_RUN_STOPPED)
    return g_strdup (_("Stopped and kept. Resume goes on from here."));
  if (!isnan (info->validation_accuracy))
    return g_strdup_printf (_("Validation loss %s, accuracy %s."), loss, accuracy);
  if (!isnan (info->validation_loss))
    return g_strdup_printf (_("Validation loss %s."), loss);

  return g_strdup (gradus_words_status (info->status));
}

static void
follow_own (GradusWorkbench *self)
{
  g_autoptr (GPtrArray) ended = g_ptr_array_new_with_free_func (g_object_unref);
  gboolean busy;
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->by_id);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      GradusRunItem *item = value;
      const GradusRunInfo *info = gradus_run_item_get_info (item);
      Own *own = g_hash_table_lookup (self->own, info->uuid);

      if (own == NULL)
        continue;
      if (is_moving (item))
        own->moving = TRUE;
      else if (own->moving || info->finished != own->finished_before)
        {
          g_hash_table_remove (self->own, info->uuid);
          g_ptr_array_add (ended, g_object_ref (item));
        }
    }

  for (guint i = 0; i < ended->len; i++)
    {
      GradusRunItem *item = g_ptr_array_index (ended, i);
      GradusRunStatus status = gradus_run_item_get_info (item)->status;
      g_autofree char *outcome = describe_outcome (item);

      g_signal_emit (self, signals[SIGNAL_RUN_ENDED], 0, gradus_run_item_get_name (item), outcome,
                     status == GRADUS_RUN_FINISHED || status == GRADUS_RUN_STOPPED);
    }

  busy = self->submitting > 0 || g_hash_table_size (self->own) > 0;
  if (busy != self->busy)
    {
      self->busy = busy;
      g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_BUSY]);
    }
}

static void
find_active (GradusWorkbench *self)
{
  guint n = g_list_model_get_n_items (G_LIST_MODEL (self->runs));
  GradusRunItem *found = NULL;

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GradusRunItem) item = g_list_model_get_item (G_LIST_MODEL (self->runs), i);

      if (!gradus_run_item_is_live (item))
        continue;
      if (found == NULL || g_hash_table_contains (self->own, gradus_run_item_get_uuid (item)))
        found = item;
      if (g_hash_table_contains (self->own, gradus_run_item_get_uuid (found)))
        break;
    }

  set_active (self, found);
}

/* ---- Updates of the feed ---- */

static GradusRunItem *
take_run (GradusWorkbench *self, GradusFeedRun *run)
{
  gint64 id = run->info->id;
  GradusRunItem *item = g_hash_table_lookup (self->by_id, &id);
  GradusRunData *data = g_hash_table_lookup (self->data, &id);

  if (item == NULL)
    {
      item = gradus_run_item_new ();
      g_hash_table_insert (self->by_id, g_memdup2 (&id, sizeof id), item);
    }
  gradus_run_item_take_info (item, g_steal_pointer (&run->info));
  if (run->details != NULL)
    gradus_run_item_take_details (item, g_steal_pointer (&run->details));
  if (run->parameters > 0)
    gradus_run_item_set_parameters (item, run->parameters);
  if (run->spark != NULL)
    gradus_run_item_set_spark (item, (const double *) (void *) run->spark->data, run->spark->len);
  if (data != NULL && gradus_run_data_get_steps_per_epoch (data) > 0)
    gradus_run_item_set_steps_per_epoch (item, gradus_run_data_get_steps_per_epoch (data));

  return item;
}

/* Splices only what differs, so that a list view keeps its place. */
static void
set_rows (GradusWorkbench *self, GPtrArray *rows)
{
  GListModel *model = G_LIST_MODEL (self->runs);
  guint n = g_list_model_get_n_items (model);
  guint head = 0, tail = 0;

  while (head < n && head < rows->len)
    {
      g_autoptr (GObject) there = g_list_model_get_item (model, head);

      if ((gpointer) there != g_ptr_array_index (rows, head))
        break;
      head++;
    }
  while (tail < n - head && tail < rows->len - head)
    {
      g_autoptr (GObject) there = g_list_model_get_item (model, n - 1 - tail);

      if ((gpointer) there != g_ptr_array_index (rows, rows->len - 1 - tail))
        break;
      tail++;
    }
  if (head + tail < n || head + tail < rows->len)
    g_list_store_splice (self->runs, head, n - head - tail, rows->pdata + head,
                         rows->len - head - tail);
}

static void
drop_gone (GradusWorkbench *self, GHashTable *there)
{
  GHashTableIter iter;
  gpointer key, value;

  g_hash_table_iter_init (&iter, self->by_id);
  while (g_hash_table_iter_next (&iter, &key, &value))
    {
      if (g_hash_table_contains (there, value))
        continue;
      if (self->auto_shown == value)
        g_clear_object (&self->auto_shown);
      g_hash_table_remove (self->own, gradus_run_item_get_uuid (value));
      g_hash_table_iter_remove (&iter);
    }
}

static void
take_list (GradusWorkbench *self, GPtrArray *runs)
{
  g_autoptr (GPtrArray) rows = g_ptr_array_new ();
  g_autoptr (GHashTable) there = g_hash_table_new (NULL, NULL);
  GradusRunItem *wanted = NULL;

  if (self->draft != NULL)
    g_ptr_array_add (rows, self->draft);
  for (guint i = 0; i < runs->len; i++)
    {
      GradusRunItem *item = take_run (self, g_ptr_array_index (runs, i));
      gint64 id = gradus_run_item_get_id (item);

      g_hash_table_add (there, item);
      if (!g_hash_table_contains (self->hidden, &id))
        g_ptr_array_add (rows, item);
      if (g_strcmp0 (self->focus_uuid, gradus_run_item_get_uuid (item)) == 0)
        wanted = item;
    }
  set_rows (self, rows);
  drop_gone (self, there);

  if (wanted != NULL)
    {
      g_clear_pointer (&self->focus_uuid, g_free);
      if (self->focus_summary != NULL)
        gradus_run_item_take_summary (wanted, g_steal_pointer (&self->focus_summary), NULL);
      /* One that waits behind another does not push it aside. */
      if (gradus_run_item_get_info (wanted)->status != GRADUS_RUN_QUEUED || self->active == NULL)
        set_focus (self, wanted);
    }
  else if (self->focus != NULL && find_row (self, self->focus) == GTK_INVALID_LIST_POSITION)
    set_focus (self, rows->len > 0 ? g_ptr_array_index (rows, 0) : NULL);
  else if (!self->listed && self->focus == NULL && rows->len > 0)
    set_focus (self, g_ptr_array_index (rows, 0));
  self->listed = TRUE;
}

static void
set_state (GradusWorkbench *self, GradusWorkbenchState state)
{
  if (self->state == state)
    return;

  self->state = state;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_STATE]);
}

static void
apply_detail (GradusWorkbench *self, GradusRunData *data, GradusFeedDetail *detail)
{
  g_autoptr (GradusRunData) keep = g_object_ref (data);
  g_autofree char *refusal = NULL;

  gradus_run_data_apply (data, detail);
  refusal = gradus_run_data_take_refusal (data);
  if (refusal != NULL)
    g_signal_emit (self, signals[SIGNAL_REFUSED], 0, refusal);
}

static void
take_update_cb (GradusFeedUpdate *update, gpointer user_data)
{
  GradusWorkbench *self = user_data;

  if (update->error != NULL)
    {
      g_free (self->error);
      self->error = g_strdup (update->error->message);
      set_state (self, GRADUS_WORKBENCH_FAILED);
      return;
    }

  if (update->all)
    take_list (self, update->runs);
  else
    for (guint i = 0; i < update->runs->len; i++)
      take_run (self, g_ptr_array_index (update->runs, i));

  for (guint i = 0; i < update->details->len; i++)
    {
      GradusFeedDetail *detail = g_ptr_array_index (update->details, i);
      GradusRunData *data = g_hash_table_lookup (self->data, &detail->run);
      guint *ticket = g_hash_table_lookup (self->tickets, &detail->run);

      if (data != NULL && ticket != NULL && *ticket == detail->ticket)
        apply_detail (self, data, detail);
    }

  find_active (self);
  follow_own (self);
  set_state (self, GRADUS_WORKBENCH_READY);
}

/* ---- Opening ---- */

static gpointer
open_job (GradusService *service, gpointer data, GError **error)
{
  GradusWorkspace *workspace = gradus_service_get_workspace (service, error);

  return workspace != NULL ? gradus_feed_new (workspace, take_update_cb, data, error) : NULL;
}

static gpointer
reason_job (GradusService *service, gpointer data, GError **error)
{
  GradusWorkspace *workspace = gradus_service_get_workspace (service, error);

  return workspace != NULL ? g_strdup (gradus_workspace_read_only_reason (workspace)) : NULL;
}

static void
reason_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GradusWorkbench) self = user_data;

  g_free (self->read_only_reason);
  self->read_only_reason = gradus_service_finish (result, NULL);
  if (self->read_only_reason != NULL)
    g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_STATE]);
}

static void
opened_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GradusWorkbench) self = user_data;
  g_autoptr (GError) error = NULL;
  GradusFeed *feed = gradus_service_finish (result, &error);

  if (feed == NULL)
    {
      g_free (self->error);
      self->error = g_strdup (error != NULL ? error->message : "");
      set_state (self, GRADUS_WORKBENCH_FAILED);
      return;
    }

  self->feed = feed;
  track (self);
  gradus_service_run (self->service, FALSE, reason_job, NULL, NULL, reason_cb,
                      g_object_ref (self));
}

void
gradus_workbench_open (GradusWorkbench *self)
{
  g_return_if_fail (GRADUS_IS_WORKBENCH (self));

  set_state (self, GRADUS_WORKBENCH_OPENING);
  if (self->feed != NULL)
    {
      gradus_feed_refresh (self->feed);
      return;
    }

  gradus_service_run (self->service, FALSE, open_job, self, NULL, opened_cb, g_object_ref (self));
}

/* ---- Recipes ---- */

typedef struct
{
  GradusRunItem *item;
  gint64         id;
  GradusRecipe  *recipe;
  GradusSummary *summary;
  char          *problem;
  gboolean       summarize;
} Look;

static void
look_free (gpointer data)
{
  Look *look = data;

  g_object_unref (look->item);
  g_clear_object (&look->recipe);
  g_clear_pointer (&look->summary, gradus_summary_free);
  g_free (look->problem);
  g_free (look);
}

static GradusRecipe *
load_recipe (GradusService *service, gint64 id, GError **error)
{
  GradusWorkspace *workspace = gradus_service_get_workspace (service, error);
  g_autoptr (GradusLogReader) reader = NULL;
  g_autofree char *text = NULL;

  if (workspace == NULL)
    return NULL;
  reader = gradus_log_reader_new (workspace, error);
  if (reader != NULL)
    text = gradus_log_reader_recipe (reader, id, error);

  return text != NULL ? gradus_recipe_parse (text, "/", _("recipe of the run"), error) : NULL;
}

static gpointer
look_job (GradusService *service, gpointer data, GError **error)
{
  Look *look = data;
  g_autoptr (GError) problem = NULL;

  if (look->recipe == NULL)
    look->recipe = load_recipe (service, look->id, &problem);
  if (look->recipe != NULL && look->summarize)
    look->summary = gradus_summary_new (look->recipe, &problem);
  if (problem != NULL)
    look->problem = g_strdup (problem->message);

  return look;
}

static void
looked_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GradusWorkbench) self = user_data;
  Look *look = gradus_service_finish (result, NULL);
  GradusRunData *data;

  g_object_set_data (G_OBJECT (look->item), look->summarize ? "summarizing" : "loading", NULL);
  if (gradus_run_item_get_recipe (look->item) == NULL && look->recipe != NULL)
    gradus_run_item_set_recipe (look->item, look->recipe);
  if (look->summarize || look->problem != NULL)
    gradus_run_item_take_summary (look->item, g_steal_pointer (&look->summary), look->problem);

  data = gradus_workbench_get_data (self, look->item);
  if (data != NULL)
    gradus_run_data_set_steps_per_epoch (data, gradus_run_item_get_steps_per_epoch (look->item));
}

static void
request (GradusWorkbench *self, GradusRunItem *item, gboolean summarize)
{
  const char *mark = summarize ? "summarizing" : "loading";
  GradusRecipe *recipe = gradus_run_item_get_recipe (item);
  Look *look;

  if (g_object_get_data (G_OBJECT (item), mark) != NULL)
    return;

  g_object_set_data (G_OBJECT (item), mark, GINT_TO_POINTER (TRUE));
  look = g_new0 (Look, 1);
  look->item = g_object_ref (item);
  look->id = gradus_run_item_get_id (item);
  look->recipe = recipe != NULL ? gradus_recipe_copy (recipe) : NULL;
  look->summarize = summarize;
  gradus_service_run (self->service, TRUE, look_job, look, look_free, looked_cb,
                      g_object_ref (self));
}

void
gradus_workbench_request_summary (GradusWorkbench *self, GradusRunItem *item)
{
  g_return_if_fail (GRADUS_IS_WORKBENCH (self));

  if (gradus_run_item_get_summary (item) == NULL &&
      gradus_run_item_get_summary_error (item) == NULL)
    request (self, item, TRUE);
}

void
gradus_workbench_request_recipe (GradusWorkbench *self, GradusRunItem *item)
{
  g_return_if_fail (GRADUS_IS_WORKBENCH (self));

  if (gradus_run_item_get_recipe (item) == NULL)
    request (self, item, FALSE);
}

void
gradus_workbench_set_draft (GradusWorkbench *self, GradusRecipe *recipe)
{
  GradusRunItem *before;

  g_return_if_fail (GRADUS_IS_WORKBENCH (self));

  before = g_steal_pointer (&self->draft);
  self->draft = gradus_run_item_new_draft (recipe);
  g_list_store_splice (self->runs, 0, before != NULL ? 1 : 0, (gpointer *) &self->draft, 1);
  set_focus (self, self->draft);
  g_clear_object (&before);
  gradus_workbench_request_summary (self, self->draft);
}

void
gradus_workbench_discard_draft (GradusWorkbench *self)
{
  if (self->draft == NULL)
    return;

  g_list_store_remove (self->runs, 0);
  if (self->focus == self->draft)
    {
      g_autoptr (GradusRunItem) first = g_list_model_get_item (G_LIST_MODEL (self->runs), 0);

      set_focus (self, self->active != NULL ? self->active : first);
    }
  g_clear_object (&self->draft);
}

GradusRunItem *
gradus_workbench_get_draft (GradusWorkbench *self)
{
  return self->draft;
}

/* ---- Training ---- */

typedef struct
{
  GradusWorkbench *self;
  GradusRecipe    *recipe;
  GradusRunItem   *draft;
  GradusRunItem   *item;
  gint64           id;
  char            *uuid;
  char            *text;
  gboolean         own;
} Order;

static Order *
order_new (GradusWorkbench *self, GradusRunItem *item)
{
  Order *order = g_new0 (Order, 1);

  order->self = g_object_ref (self);
  if (item != NULL)
    {
      order->item = g_object_ref (item);
      order->id = gradus_run_item_get_id (item);
      order->uuid = g_strdup (gradus_run_item_get_uuid (item));
      order->own = g_hash_table_contains (self->own, order->uuid);
    }

  return order;
}

static void
order_free (gpointer data)
{
  Order *order = data;

  g_clear_object (&order->recipe);
  g_clear_object (&order->draft);
  g_clear_object (&order->item);
  g_free (order->uuid);
  g_free (order->text);
  g_object_unref (order->self);
  g_free (order);
}

/* The run will be there in the log within milliseconds; it is focused and shown then. */
static void
expect_run (GradusWorkbench *self, const char *uuid, gint64 finished_before)
{
  Own *own = g_new0 (Own, 1);

  own->finished_before = finished_before;
  g_hash_table_insert (self->own, g_strdup (uuid), own);
  g_free (self->focus_uuid);
  self->focus_uuid = g_strdup (uuid);
  if (self->feed != NULL)
    gradus_feed_refresh (self->feed);
}

static gpointer
submit_job (GradusService *service, gpointer data, GError **error)
{
  Order *order = data;
  GradusSession *session = gradus_service_get_session (service, error);

  return session != NULL ? gradus_session_submit (session, order->recipe, error) : NULL;
}

static void
submitted_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Order *order = user_data;
  GradusWorkbench *self = order->self;
  g_autoptr (GError) error = NULL;
  g_autofree char *uuid = gradus_service_finish (result, &error);

  self->submitting--;
  if (uuid == NULL)
    tell_trouble (self, error->message);
  else
    {
      expect_run (self, uuid, 0);
      if (order->draft != NULL && order->draft == self->draft)
        {
          g_clear_pointer (&self->focus_summary, gradus_summary_free);
          self->focus_summary = gradus_run_item_steal_summary (self->draft);
          gradus_workbench_discard_draft (self);
        }
    }
  follow_own (self);
}

void
gradus_workbench_train (GradusWorkbench *self, GradusRecipe *recipe)
{
  int threads = g_settings_get_int (gradus_settings_get (), "threads");
  Order *order;

  g_return_if_fail (GRADUS_IS_WORKBENCH (self));

  order = order_new (self, NULL);
  order->recipe = gradus_recipe_copy (recipe);
  if (self->draft != NULL && gradus_run_item_get_recipe (self->draft) == recipe)
    order->draft = g_object_ref (self->draft);
  if (threads > 0 && gradus_recipe_get_int (recipe, "fit.threads", 0) == 0)
    gradus_recipe_set_int (order->recipe, "fit.threads", threads, NULL);

  self->submitting++;
  gradus_service_run (self->service, FALSE, submit_job, order, order_free, submitted_cb, order);
  follow_own (self);
}

static gpointer
resume_job (GradusService *service, gpointer data, GError **error)
{
  Order *order = data;
  GradusSession *session = gradus_service_get_session (service, error);

  return session != NULL ? gradus_session_resume (session, order->uuid, NULL, error) : NULL;
}

static void
resumed_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Order *order = user_data;
  g_autoptr (GError) error = NULL;
  g_autofree char *uuid = gradus_service_finish (result, &error);

  order->self->submitting--;
  if (uuid == NULL)
    tell_trouble (order->self, error->message);
  else
    expect_run (order->self, uuid, gradus_run_item_get_info (order->item)->finished);
  follow_own (order->self);
}

void
gradus_workbench_resume (GradusWorkbench *self, GradusRunItem *item)
{
  Order *order;

  g_return_if_fail (GRADUS_IS_WORKBENCH (self));
  g_return_if_fail (gradus_run_item_is_resumable (item));

  order = order_new (self, item);
  self->submitting++;
  gradus_service_run (self->service, FALSE, resume_job, order, order_free, resumed_cb, order);
  follow_own (self);
}

static void
done_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Order *order = user_data;
  g_autoptr (GError) error = NULL;

  gradus_service_finish (result, &error);
  if (error != NULL)
    tell_trouble (order->self, error->message);
  else if (order->self->feed != NULL)
    gradus_feed_refresh (order->self->feed);
}

static gpointer
command_job (GradusService *service, gpointer data, GError **error)
{
  Order *order = data;
  GradusWorkspace *workspace;

  if (order->own)
    {
      GradusSession *session = gradus_service_get_session (service, error);

      if (session != NULL)
        gradus_session_command (session, order->uuid, order->text, error);
      return NULL;
    }

  workspace = gradus_service_get_workspace (service, error);
  if (workspace != NULL)
    gradus_log_post_command (workspace, order->id, order->text, error);

  return NULL;
}

void
gradus_workbench_command (GradusWorkbench *self, GradusRunItem *item, const char *command)
{
  Order *order;

  g_return_if_fail (GRADUS_IS_WORKBENCH (self));

  order = order_new (self, item);
  order->text = g_strdup (command);
  gradus_service_run (self->service, FALSE, command_job, order, order_free, done_cb, order);
}

void
gradus_workbench_set_option (GradusWorkbench *self,
                             GradusRunItem   *item,
                             const char      *name,
                             double           value)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *command = NULL;

  command = g_strdup_printf ("{\"command\": \"set\", \"name\": \"%s\", \"value\": %s}", name,
                             isnan (value) ? "null" : g_ascii_dtostr (number, sizeof number, value));
  gradus_workbench_command (self, item, command);
}

static gpointer
rename_job (GradusService *service, gpointer data, GError **error)
{
  Order *order = data;
  GradusWorkspace *workspace = gradus_service_get_workspace (service, error);

  if (workspace != NULL)
    gradus_run_rename (workspace, order->id, order->text, error);

  return NULL;
}

void
gradus_workbench_rename (GradusWorkbench *self, GradusRunItem *item, const char *name)
{
  Order *order;

  g_return_if_fail (GRADUS_IS_WORKBENCH (self));

  if (gradus_run_item_is_draft (item))
    {
      g_autoptr (GradusRecipe) recipe = gradus_recipe_copy (gradus_run_item_get_recipe (item));
      g_autoptr (GError) error = NULL;

      if (gradus_recipe_set_string (recipe, "name", name, &error))
        gradus_workbench_set_draft (self, recipe);
      else
        tell_trouble (self, error->message);
      return;
    }

  order = order_new (self, item);
  order->text = g_strdup (name);
  gradus_service_run (self->service, FALSE, rename_job, order, order_free, done_cb, order);
}

static gpointer
delete_job (GradusService *service, gpointer data, GError **error)
{
  Order *order = data;
  GradusWorkspace *workspace = gradus_service_get_workspace (service, error);

  if (workspace != NULL)
    gradus_run_delete (workspace, order->id, NULL, NULL, NULL, error);

  return NULL;
}

static void
deleted_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Order *order = user_data;
  g_autoptr (GError) error = NULL;

  gradus_service_finish (result, &error);
  if (error != NULL)
    {
      gradus_workbench_unhide (order->self, order->item);
      tell_trouble (order->self, error->message);
    }
  if (order->self->feed != NULL)
    gradus_feed_refresh (order->self->feed);
}

void
gradus_workbench_delete (GradusWorkbench *self, GradusRunItem *item)
{
  Order *order;

  g_return_if_fail (GRADUS_IS_WORKBENCH (self));

  order = order_new (self, item);
  gradus_service_run (self->service, TRUE, delete_job, order, order_free, deleted_cb, order);
}

void
gradus_workbench_hide (GradusWorkbench *self, GradusRunItem *item)
{
  gint64 id = gradus_run_item_get_id (item);
  guint position = find_row (self, item);

  if (position == GTK_INVALID_LIST_POSITION)
    return;

  g_hash_table_add (self->hidden, g_memdup2 (&id, sizeof id));
  gradus_run_item_set_color (item, -1);
  g_list_store_remove (self->runs, position);
  if (self->focus == item)
    {
      guint n = g_list_model_get_n_items (G_LIST_MODEL (self->runs));
      g_autoptr (GradusRunItem) next =
        n > 0 ? g_list_model_get_item (G_LIST_MODEL (self->runs), MIN (position, n - 1)) : NULL;

      set_focus (self, next);
    }
  else
    {
      track (self);
      g_signal_emit (self, signals[SIGNAL_SHOWN_CHANGED], 0);
    }
}

void
gradus_workbench_unhide (GradusWorkbench *self, GradusRunItem *item)
{
  gint64 id = gradus_run_item_get_id (item);

  if (g_hash_table_remove (self->hidden, &id) && self->feed != NULL)
    gradus_feed_refresh (self->feed);
}

void
gradus_workbench_move (GradusWorkbench *self, GradusRunItem *item, int by)
{
  g_autoptr (GradusSession) session = gradus_service_peek_session (self->service);
  g_auto (GStrv) queue = session != NULL ? gradus_session_get_queue (session) : NULL;

  for (int i = 0; queue != NULL && queue[i] != NULL; i++)
    if (g_str_equal (queue[i], gradus_run_item_get_uuid (item)))
      gradus_session_move (session, queue[i], MAX (0, i + by));
  if (self->feed != NULL)
    gradus_feed_refresh (self->feed);
}

void
gradus_workbench_stop_now (GradusWorkbench *self)
{
  g_autoptr (GradusSession) session = gradus_service_peek_session (self->service);

  if (session != NULL)
    gradus_session_stop (session);
}

void
gradus_workbench_close (GradusWorkbench *self)
{
  g_return_if_fail (GRADUS_IS_WORKBENCH (self));

  g_clear_pointer (&self->feed, gradus_feed_free);
  gradus_service_close (self->service);
}

/* ---- Object ---- */

static void
gradus_workbench_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GradusWorkbench *self = GRADUS_WORKBENCH (object);

  switch (id)
    {
    case PROP_STATE:
      g_value_set_int (value, self->state);
      break;
    case PROP_BUSY:
      g_value_set_boolean (value, self->busy);
      break;
    case PROP_FOCUS:
      g_value_set_object (value, self->focus);
      break;
    case PROP_ACTIVE:
      g_value_set_object (value, self->active);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
gradus_workbench_finalize (GObject *object)
{
  GradusWorkbench *self = GRADUS_WORKBENCH (object);

  gradus_workbench_close (self);
  g_clear_object (&self->service);
  g_clear_object (&self->draft);
  g_clear_object (&self->focus);
  g_clear_object (&self->active);
  g_clear_object (&self->auto_shown);
  g_clear_object (&self->runs);
  g_hash_table_unref (self->by_id);
  g_hash_table_unref (self->hidden);
  g_hash_table_unref (self->own);
  g_hash_table_unref (self->data);
  g_hash_table_unref (self->tickets);
  g_free (self->error);
  g_free (self->read_only_reason);
  g_free (self->stall);
  g_free (self->focus_uuid);
  g_clear_pointer (&self->focus_summary, gradus_summary_free);
  g_free (self->variable);

  G_OBJECT_CLASS (gradus_workbench_parent_class)->finalize (object);
}

static void
gradus_workbench_class_init (GradusWorkbenchClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;

  object_class->get_property = gradus_workbench_get_property;
  object_class->finalize = gradus_workbench_finalize;

  properties[PROP_STATE] = g_param_spec_int ("state", NULL, NULL, 0, 2, 0, flags);
  properties[PROP_BUSY] = g_param_spec_boolean ("busy", NULL, NULL, FALSE, flags);
  properties[PROP_FOCUS] = g_param_spec_object ("focus", NULL, NULL, GRADUS_TYPE_RUN_ITEM, flags);
  properties[PROP_ACTIVE] = g_param_spec_object ("active", NULL, NULL, GRADUS_TYPE_RUN_ITEM,
                                                 flags);
  g_object_class_install_properties (object_class, N_PROPS, properties);

  signals[SIGNAL_RUN_ENDED] =
    g_signal_new ("run-ended", GRADUS_TYPE_WORKBENCH, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                  G_TYPE_NONE, 3, G_TYPE_STRING, G_TYPE_STRING, G_TYPE_BOOLEAN);
  signals[SIGNAL_REFUSED] = g_signal_new ("refused", GRADUS_TYPE_WORKBENCH, G_SIGNAL_RUN_LAST, 0,
                                          NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
  signals[SIGNAL_STALLED] = g_signal_new ("stalled", GRADUS_TYPE_WORKBENCH, G_SIGNAL_RUN_LAST, 0,
                                          NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
  signals[SIGNAL_TROUBLE] = g_signal_new ("trouble", GRADUS_TYPE_WORKBENCH, G_SIGNAL_RUN_LAST, 0,
                                          NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
  signals[SIGNAL_SHOWN_CHANGED] = g_signal_new ("shown-changed", GRADUS_TYPE_WORKBENCH,
                                                G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                                G_TYPE_NONE, 0);
  signals[SIGNAL_FOCUS_DATA] = g_signal_new ("focus-data", GRADUS_TYPE_WORKBENCH,
                                             G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE,
                                             0);
}

static void
gradus_workbench_init (GradusWorkbench *self)
{
  self->runs = g_list_store_new (GRADUS_TYPE_RUN_ITEM);
  self->by_id = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_object_unref);
  self->hidden = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  self->own = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->data = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_object_unref);
  self->tickets = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
}

/* The one thing that cannot come through the log. */
static void
stalled_cb (GradusWorkbench *self, const char *reason)
{
  g_free (self->stall);
  self->stall = g_strdup (reason);
  g_signal_emit (self, signals[SIGNAL_STALLED], 0, reason);
}

GradusWorkbench *
gradus_workbench_new (const char *workspace)
{
  GradusWorkbench *self = g_object_new (GRADUS_TYPE_WORKBENCH, NULL);

  self->service = gradus_service_new (workspace);
  g_signal_connect_object (self->service, "stalled", G_CALLBACK (stalled_cb), self,
                           G_CONNECT_SWAPPED);

  return self;
}

GradusWorkbenchState
gradus_workbench_get_state (GradusWorkbench *self)
{
  return self->state;
}

const char *
gradus_workbench_get_error (GradusWorkbench *self)
{
  return self->error;
}

const char *
gradus_workbench_get_read_only_reason (GradusWorkbench *self)
{
  return self->read_only_reason;
}

const char *
gradus_workbench_get_stall (GradusWorkbench *self)
{
  return self->stall;
}

const char *
gradus_workbench_get_path (GradusWorkbench *self)
{
  return gradus_service_get_path (self->service);
}

GListModel *
gradus_workbench_get_runs (GradusWorkbench *self)
{
  return G_LIST_MODEL (self->runs);
}

GradusRunItem *
gradus_workbench_get_focus (GradusWorkbench *self)
{
  return self->focus;
}

void
gradus_workbench_set_focus (GradusWorkbench *self, GradusRunItem *item)
{
  g_return_if_fail (GRADUS_IS_WORKBENCH (self));

  g_clear_pointer (&self->focus_uuid, g_free);
  set_focus (self, item);
}

GradusRunItem *
gradus_workbench_get_active (GradusWorkbench *self)
{
  return self->active;
}

gboolean
gradus_workbench_is_busy (GradusWorkbench *self)
{
  return self->busy;
}

void
gradus_workbench_set_shown (GradusWorkbench *self, GradusRunItem *item, gboolean shown)
{
  g_return_if_fail (GRADUS_IS_WORKBENCH (self));

  show_item (self, item, shown);
  track (self);
  g_signal_emit (self, signals[SIGNAL_SHOWN_CHANGED], 0);
}

GPtrArray *
gradus_workbench_get_shown (GradusWorkbench *self)
{
  GPtrArray *shown = g_ptr_array_new ();
  guint n = g_list_model_get_n_items (G_LIST_MODEL (self->runs));
  GradusRunItem *last = NULL;

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GradusRunItem) item = g_list_model_get_item (G_LIST_MODEL (self->runs), i);

      if (gradus_run_item_get_color (item) < 0)
        continue;
      if (item == self->focus)
        last = item;
      else
        g_ptr_array_add (shown, item);
    }
  if (last != NULL)
    g_ptr_array_add (shown, last);

  return shown;
}

GradusRunData *
gradus_workbench_get_data (GradusWorkbench *self, GradusRunItem *item)
{
  gint64 id = item != NULL ? gradus_run_item_get_id (item) : 0;

  return id != 0 ? g_hash_table_lookup (self->data, &id) : NULL;
}

void
gradus_workbench_set_variable (GradusWorkbench *self, const char *variable)
{
  if (g_strcmp0 (self->variable, variable) == 0)
    return;

  g_free (self->variable);
  self->variable = g_strdup (variable);
  track (self);
}
