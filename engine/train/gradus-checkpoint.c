/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "train/gradus-checkpoint.h"

#include "gradus-json.h"
#include "train/gradus-checkpoint-private.h"
#include "train/gradus-file-writer.h"
#include "train/gradus-safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n-lib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct _GradusCheckpoint
{
  char             *path;
  guint8           *bytes; /* of the whole file */
  gsize             size;
  GradusSafetensors tensors;
  JsonNode         *state;
  gint64            step, epoch;
};

static gboolean
fail (GradusCheckpoint *self, int number, GError **error)
{
  if (number == ENOENT)
    g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND,
                 _("There is no checkpoint “%s”. Choose another one."), self->path);
  else
    g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_IO, _("“%s” could not be read: %s."),
                 self->path, g_strerror (number));
  return FALSE;
}

static gboolean
read_bytes (GradusCheckpoint *self, int fd, gsize from, gsize to, GError **error)
{
  while (from < to)
    {
      gssize got = pread (fd, self->bytes + from, to - from, from);

      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        return fail (self, errno, error);
      if (got == 0)
        {
          g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_CORRUPT,
                       _("“%s” was cut short while it was read. Use another checkpoint."),
                       self->path);
          return FALSE;
        }
      from += got;
    }
  return TRUE;
}

/* The header, and what the header says is in the file, is held against the file's size before the
 * rest is read. A mapping would end the process if somebody cut the file short. */
static gboolean
read_tensors (GradusCheckpoint *self, int fd, gsize size, GError **error)
{
  guint64 length = 0;
  gsize   header;

  self->size = size;
  if ((self->bytes = g_try_malloc (MAX (size, 1))) == NULL)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
                   _("There is no memory for the %1$zu bytes of “%2$s”. Close other programs."),
                   size, self->path);
      return FALSE;
    }
  header = MIN (size, sizeof length);
  if (!read_bytes (self, fd, 0, header, error))
    return FALSE;
  memcpy (&length, self->bytes, header);
  length = MIN (GUINT64_FROM_LE (length), GRADUS_SAFETENSORS_MAX_HEADER);
  header = MIN (size, MAX (8 + length, 16));
  return read_bytes (self, fd, MIN (size, 8), header, error) &&
         gradus_safetensors_read (&self->tensors, self->bytes, size, self->path, error) &&
         read_bytes (self, fd, header, size, error);
}

static gboolean
read_file (GradusCheckpoint *self, GError **error)
{
  /* Not to be held up by a pipe that nobody writes into. */
  int         fd = open (self->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info;
  gboolean    ok = FALSE;

  if (fd < 0)
    return fail (self, errno, error);
  if (fstat (fd, &info) < 0)
    fail (self, errno, error);
  else if (S_ISDIR (info.st_mode))
    fail (self, EISDIR, error);
  else if (!S_ISREG (info.st_mode))
    g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_CORRUPT,
                 _("“%s” is not a regular file. Choose a checkpoint or an exported file of Gradus."),
                 self->path);
  else
    ok = read_tensors (self, fd, info.st_size, error);
  close (fd);
  return ok;
}

static gboolean
read_state (GradusCheckpoint *self, GError **error)
{
  const char *text = g_hash_table_lookup (self->tensors.metadata, "gradus");
  g_autoptr (GradusJsonObject) state = NULL;
  g_autoptr (GradusJsonObject) model = NULL;
  g_autoptr (GError) inner = NULL;
  gint64 format;

  if (text == NULL)
    {
      g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_CORRUPT,
                   _("“%s” has tensors, but was not written by Gradus: its metadata has no member "
                     "“gradus”. Choose a checkpoint or an exported file of Gradus."),
                   self->path);
      return FALSE;
    }
  if ((self->state = gradus_json_parse (text, -1, self->path, &inner)) != NULL &&
      (state = gradus_json_open (self->state, self->path, &inner)) != NULL)
    {
      gradus_json_require (state, "format", "step", "epoch", "model", NULL);
      format = gradus_json_int (state, "format", 1, G_MAXINT64, 1);
      self->step = gradus_json_int (state, "step", 0, G_MAXINT64, 0);
      self->epoch = gradus_json_int (state, "epoch", 0, G_MAXINT64, 0);
      model = gradus_json_object (state, "model");
      if (format > GRADUS_CHECKPOINT_FORMAT)
        {
          g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NEWER,
                       _("“%s” was written by a newer version of Gradus. Update Gradus to read it."),
                       self->path);
          return FALSE;
        }
      if (gradus_json_check (state, &inner))
        return TRUE;
    }
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_CORRUPT,
               _("The checkpoint “%s” is damaged: %s Use another checkpoint."), self->path,
               inner->message);
  return FALSE;
}

GradusCheckpoint *
gradus_checkpoint_open (const char *path, GError **error)
{
  g_autoptr (GradusCheckpoint) self = g_new0 (GradusCheckpoint, 1);

  self->path = g_strdup (path);
  if (!read_file (self, error) || !read_state (self, error))
    return NULL;
  return g_steal_pointer (&self);
}

void
gradus_checkpoint_close (GradusCheckpoint *self)
{
  gradus_safetensors_clear (&self->tensors);
  g_clear_pointer (&self->state, json_node_unref);
  g_free (self->bytes);
  g_free (self->path);
  g_free (self);
}

char *
gradus_checkpoint_digest (GradusCheckpoint *self)
{
  return g_compute_checksum_for_data (G_CHECKSUM_SHA256, self->bytes, self->size);
}

gint64
gradus_checkpoint_step (GradusCheckpoint *self)
{
  return self->step;
}

gint64
gradus_checkpoint_epoch (GradusCheckpoint *self)
{
  return self->epoch;
}

JsonObject *
gradus_checkpoint_state (GradusCheckpoint *self)
{
  return json_node_get_object (self->state);
}

JsonObject *
gradus_checkpoint_extras (GradusCheckpoint *self)
{
  JsonNode *node = json_object_get_member (json_node_get_object (self->state), "extras");

  return node != NULL && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
}

GradusModel *
gradus_checkpoint_model (GradusCheckpoint *self, GError **error)
{
  JsonObject *state = json_node_get_object (self->state);

  return gradus_model_new_from_json (json_object_get_object_member (state, "model"), self->path,
                                     "/model", error);
}

guint
gradus_checkpoint_n_tensors (GradusCheckpoint *self)
{
  return self->tensors.tensors->len;
}

const GradusTensorView *
gradus_checkpoint_tensor (GradusCheckpoint *self, guint i)
{
  g_return_val_if_fail (i < self->tensors.tensors->len, NULL);
  return &g_array_index (self->tensors.tensors, GradusTensorView, i);
}

/* The tensor called @name as it is used: where the run kept an average of it, that. */
static const GradusTensorView *
used (GradusCheckpoint *self, const char *name)
{
  g_autofree char        *average = g_strdup_printf ("optimizer/%s/average", name);
  const GradusTensorView *view = gradus_safetensors_find (&self->tensors, average);

  return view != NULL && self->step > 0 ? view : gradus_safetensors_find (&self->tensors, name);
}

gboolean
gradus_checkpoint_restore (GradusCheckpoint *self,
                           GradusVariables  *variables,
                           gboolean          optimizer,
                           GError          **error)
{
  for (guint i = 0; i < gradus_variables_n (variables); i++)
    {
      GradusVariableRole      role;
      GradusValueType         type;
      const char             *name = gradus_variables_name (variables, i, &role, &type);
      const GradusTensorView *view;

      if (role == GRADUS_VARIABLE_GRADIENT || (role == GRADUS_VARIABLE_OPTIMIZER && !optimizer))
        continue;
      view = optimizer ? gradus_safetensors_find (&self->tensors, name) : used (self, name);
      if (view == NULL || view->dtype != type.dtype ||
          !gradus_shape_equal (&view->shape, &type.shape))
        {
          g_autofree char *wanted = gradus_shape_to_string (&type.shape);
          g_autofree char *met = view ? gradus_shape_to_string (&view->shape) : NULL;

          g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED,
                       met != NULL
                           ? _("The checkpoint “%1$s” does not fit the model: “%2$s” has shape "
                               "%4$s there, but %3$s is wanted. Use the model and optimizer that "
                               "it was made with.")
                           : _("The checkpoint “%1$s” does not fit the model: there is no “%2$s” "
                               "of shape %3$s in it. Use the model and optimizer that it was made "
                               "with.%4$s"),
                       self->path, name, wanted, met ? met : "");
          return FALSE;
        }
      if (!gradus_variables_write (variables, i, view->data, view->bytes, error))
        return FALSE;
    }
  return TRUE;
}

/* What an exported model needs of the state: no counters of the run. */
static char *
exported_state (GradusCheckpoint *self)
{
  static const char *const kept[] = { "format", "engine_version", "step", "epoch", "model",
                                      "extras", "metrics" };
  g_autoptr (JsonNode) node = json_node_new (JSON_NODE_OBJECT);
  JsonObject *state = json_node_get_object (self->state);
  JsonObject *object = json_object_new ();

  for (gsize i = 0; i < G_N_ELEMENTS (kept); i++)
    if (json_object_has_member (state, kept[i]))
      json_object_set_member (object, kept[i], json_object_dup_member (state, kept[i]));
  json_node_take_object (node, object);
  return gradus_json_to_string (node, FALSE);
}

gboolean
gradus_checkpoint_export_safetensors (GradusCheckpoint *self, const char *path, GError **error)
{
  g_autofree char *state = exported_state (self);
  const char *const metadata[] = { "format", "keras", "gradus", state, NULL };
  g_autoptr (GArray) views = g_array_new (FALSE, FALSE, sizeof (GradusTensorView));
  g_autoptr (GPtrArray) parts = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);

  for (guint i = 0; i < self->tensors.tensors->len; i++)
    {
      GradusTensorView *view = &g_array_index (self->tensors.tensors, GradusTensorView, i);

      GradusTensorView  copy = *view;

      if (g_str_has_prefix (view->name, "optimizer/"))
        continue;
      copy.data = used (self, view->name)->data;
      g_array_append_val (views, copy);
    }
  g_ptr_array_add (parts, g_byte_array_free_to_bytes (gradus_safetensors_header (
                              (GradusTensorView *) views->data, views->len, metadata)));
  for (guint i = 0; i < views->len; i++)
    {
      GradusTensorView *view = &g_array_index (views, GradusTensorView, i);

      g_ptr_array_add (parts, g_bytes_new_static (view->data, view->bytes));
    }
  return gradus_file_write (path, (GBytes *const *) parts->pdata, parts->len, NULL, NULL, NULL, error);
}
