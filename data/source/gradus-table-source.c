/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-table-source.h"

#include <glib/gi18n-lib.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "gradus-csv.h"

#define MAX_NUMBER_CLASSES 1000
#define MAX_CATEGORIES 65536

/* What a column is in the part that the model is trained on. */
typedef struct
{
  GPtrArray *categories; /* sorted; NULL: numbers */
} Column;

typedef struct
{
  GradusSource parent;
  GradusCsv   *csv;
  GHashTable  *columns; /* of Column, by name */
  char       **missing;
  char       **categorical;
  void        *arrays[2 * GRADUS_SOURCE_MAX_ARRAYS]; /* inputs, then targets */
  char        *names[2 * GRADUS_SOURCE_MAX_ARRAYS];
  guint        text_column, target_column;
  float       *weights;
  gint32      *lengths;
  gboolean    *used;
} TableSource;

static void
column_free (gpointer data)
{
  Column *column = data;

  g_clear_pointer (&column->categories, g_ptr_array_unref);
  g_free (column);
}

static int
compare (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static int
category_at (GPtrArray *categories, const char *cell)
{
  const char **found = categories->len > 0 ? bsearch (&cell, categories->pdata, categories->len,
                                                      sizeof (char *), compare)
                                           : NULL;

  return found != NULL ? (int) (found - (const char **) categories->pdata) : -1;
}

static gboolean
is_missing (TableSource *self, const char *cell)
{
  return g_strv_contains ((const char *const *) self->missing, cell);
}

static gboolean
refuse_cell (TableSource *self, GError **error, gint64 row, guint c, const char *what)
{
  g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED, _ ("%s, line %u, column “%s”: %s"),
               self->csv->file.path, self->csv->lines[row], self->csv->names[c], what);
  return FALSE;
}

/* Whole column: numbers, unless a cell is none or the recipe says categories. */
static Column *
look_at (TableSource *self, guint c, GError **error)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  Column  *column = g_hash_table_lookup (self->columns, self->csv->names[c]);
  gboolean numbers;
  double   number;

  if (column != NULL)
    return column;
  numbers = self->categorical == NULL
            || !g_strv_contains ((const char *const *) self->categorical, self->csv->names[c]);
  for (gint64 row = 0; row < self->csv->n_rows && numbers; row++)
    {
      const char *cell = gradus_csv_cell (self->csv, row, c);

      numbers = is_missing (self, cell) || gradus_csv_number (cell, &number);
    }
  column = g_new0 (Column, 1);
  g_hash_table_insert (self->columns, g_strdup (self->csv->names[c]), column);
  if (numbers)
    return column;
  column->categories = g_ptr_array_new_with_free_func (g_free);
  for (gint64 row = 0; row < self->csv->n_rows; row++)
    {
      const char *cell = gradus_csv_cell (self->csv, row, c);

      if (is_missing (self, cell) || !g_hash_table_add (seen, (gpointer) cell))
        continue;
      if (column->categories->len == MAX_CATEGORIES)
        {
          refuse_cell (self, error, row, c, _ ("The column has too many categories. Is it text?"));
          return NULL;
        }
      g_ptr_array_add (column->categories, g_strdup (cell));
    }
  g_ptr_array_sort (column->categories, compare);
  return column;
}

static int
find_column (TableSource *self, GradusJsonObject *spec, const char *key, const char *name)
{
  int c = name != NULL ? gradus_csv_column (self->csv, name) : -1;

  if (c < 0 && name != NULL)
    {
      const char *near = gradus_json_nearest (name, (const char *const *) self->csv->names);

      if (near != NULL)
        gradus_json_refuse (spec, key, _ ("%s has no column “%s”; did you mean “%s”?"),
                            self->csv->file.path, name, near);
      else
        gradus_json_refuse (spec, key, _ ("%s has no column “%s”; its first one is “%s”."),
                            self->csv->file.path, name, self->csv->names[0]);
    }
  if (c >= 0)
    self->used[c] = TRUE;
  return c;
}

/* The columns at @key, one name or a list. */
static GArray *
find_columns (TableSource *self, GradusJsonObject *spec, const char *key)
{
  GArray   *columns = g_array_new (FALSE, FALSE, sizeof (guint));
  JsonNode *node = gradus_json_node (spec, key);

  if (node != NULL && JSON_NODE_HOLDS_ARRAY (node))
    {
      g_autoptr (GradusJsonArray) list = gradus_json_array (spec, key, GRADUS_CSV_MAX_COLUMNS);

      for (guint i = 0; list != NULL && i < gradus_json_array_length (list); i++)
        {
          int c = find_column (self, spec, key, gradus_json_array_string (list, i));

          if (c >= 0)
            g_array_append_val (columns, c);
        }
    }
  else
    {
      int c = find_column (self, spec, key, gradus_json_string (spec, key, NULL));

      if (c >= 0)
        g_array_append_val (columns, c);
    }
  if (columns->len == 0)
    gradus_json_refuse (spec, key, _ ("At least one column is needed."));
  return columns;
}

static void *
allocate (gint64 n, gsize each, GError **error)
{
  void *out = g_try_malloc0_n (MAX (n, 1), MAX (each, 1));

  if (out == NULL)
    g_set_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY,
                 _ ("There is no memory for the table's numbers; use fewer columns."));
  return out;
}

static GradusArraySpec *
add_array (TableSource *self, gboolean input, const char *name, void *data)
{
  GradusSource *source = &self->parent;
  guint         at = source->n_inputs + source->n_targets;

  self->arrays[at] = data;
  self->names[at] = g_strdup (name);
  return input ? &source->inputs[source->n_inputs++] : &source->targets[source->n_targets++];
}

/* Numbers and categories side by side. */
static gboolean
add_numbers (TableSource *self, gboolean input, const char *name, GArray *columns, GError **error)
{
  gint64 width = 0;
  float *out;
  guint  at = 0;

  for (guint i = 0; i < columns->len; i++)
    {
      Column *column = look_at (self, g_array_index (columns, guint, i), error);

      if (column == NULL)
        return FALSE;
      width += column->categories != NULL ? (gint64) column->categories->len : 1;
    }
  out = allocate (self->csv->n_rows, width * sizeof *out, error);
  if (out == NULL)
    return FALSE;
  for (guint i = 0; i < columns->len; i++)
    {
      guint   c = g_array_index (columns, guint, i);
      Column *column = look_at (self, c, NULL);

      for (gint64 row = 0; row < self->csv->n_rows; row++)
        {
          const char *cell = gradus_csv_cell (self->csv, row, c);
          double      number = NAN;
          int         category = column->categories != NULL ? category_at (column->categories, cell) : -1;

          if (category >= 0)
            out[row * width + at + category] = 1;
          if (column->categories != NULL)
            continue;
          if (!is_missing (self, cell) && !gradus_csv_number (cell, &number))
            {
              g_free (out);
              return refuse_cell (self, error, row, c,
                                  _ ("This is no number, but the column has numbers in training."));
            }
          if (isnan (number) && !input)
            {
              g_free (out);
              return refuse_cell (self, error, row, c, _ ("The target is missing; remove the row."));
            }
          out[row * width + at] = (float) number;
        }
      at += column->categories != NULL ? column->categories->len : 1;
    }
  *add_array (self, input, name, out) = (GradusArraySpec){
    .dtype = GRADUS_DTYPE_FLOAT32, .rank = 1, .dims = { width }
  };
  self->parent.resident += self->csv->n_rows * width * sizeof *out;
  return TRUE;
}

/* Whether the numbers are 0, 1, .. without a gap. */
static gboolean
are_classes (TableSource *self, guint c)
{
  gboolean met[MAX_NUMBER_CLASSES] = { FALSE };
  guint    greatest = 0, n = 0;

  for (gint64 row = 0; row < self->csv->n_rows; row++)
    {
      double number;

      if (!gradus_csv_number (gradus_csv_cell (self->csv, row, c), &number) || number < 0
          || number >= MAX_NUMBER_CLASSES || number != floor (number))
        return FALSE;
      n += !met[(guint) number];
      met[(guint) number] = TRUE;
      greatest = MAX (greatest, (guint) number);
    }
  return n == greatest + 1;
}

static gboolean
add_classes (TableSource *self, const char *name, guint c, Column *column, GError **error)
{
  gint32 *out = allocate (self->csv->n_rows, sizeof *out, error);

  if (out == NULL)
    return FALSE;
  for (gint64 row = 0; row < self->csv->n_rows; row++)
    {
      const char *cell = gradus_csv_cell (self->csv, row, c);
      double      number = 0;
      gboolean    fine = TRUE;

      if (column->categories != NULL)
        fine = (out[row] = category_at (column->categories, cell)) >= 0;
      else if ((fine = gradus_csv_number (cell, &number) && number >= 0 && number == floor (number)
                       && number < G_MAXINT32))
        out[row] = (gint32) number;
      if (fine)
        continue;
      g_free (out);
      return refuse_cell (self, error, row, c,
                          is_missing (self, cell)
                              ? _ ("The target is missing; remove the row.")
                              : _ ("No sample for training has this class."));
    }
  *add_array (self, FALSE, name, out) = (GradusArraySpec){ .dtype = GRADUS_DTYPE_INT32 };
  self->target_column = c;
  self->parent.resident += self->csv->n_rows * sizeof *out;
  return TRUE;
}

static gboolean
add_target (TableSource *self, const char *name, GArray *columns, const GradusArraySpec *like, GError **error)
{
  guint   c = g_array_index (columns, guint, 0);
  Column *column = look_at (self, c, error);

  if (column == NULL)
    return FALSE;
  if (columns->len == 1
      && (column->categories != NULL || (like != NULL ? like->rank == 0 : are_classes (self, c))))
    return add_classes (self, name, c, column, error);
  return add_numbers (self, FALSE, name, columns, error);
}

/* Columns at @key, or lists of them by name. */
static void
add_arrays (TableSource *self, GradusJsonObject *spec, const char *key, GradusSource *train)
{
  gboolean  input = g_str_equal (key, "inputs");
  JsonNode *node = gradus_json_node (spec, key);
  g_autoptr (GradusJsonObject) by_name = NULL;
  g_autoptr (GList) names = NULL;
  g_autoptr (GList) alone = g_list_append (NULL, (gpointer) key);
  GradusJsonObject *from = spec;

  if (node != NULL && JSON_NODE_HOLDS_OBJECT (node))
    {
      from = by_name = gradus_json_object (spec, key);
      names = json_object_get_members (gradus_json_peek (by_name));
      if (names == NULL || g_list_length (names) > GRADUS_SOURCE_MAX_ARRAYS)
        gradus_json_refuse (spec, key, _ ("From 1 to %d lists of columns by name are possible."),
                            GRADUS_SOURCE_MAX_ARRAYS);
    }
  for (GList *l = names != NULL ? names : alone; l != NULL && !gradus_json_failed (spec); l = l->next)
    {
      g_autoptr (GArray) columns = find_columns (self, from, l->data);
      g_autoptr (GError) error = NULL;
      guint    at = self->parent.n_targets;
      gboolean fine = FALSE;

      if (gradus_json_failed (spec))
        return;
      fine = input ? add_numbers (self, TRUE, l->data, columns, &error)
                   : add_target (self, l->data, columns,
                                 train != NULL && at < train->n_targets ? &train->targets[at] : NULL, &error);
      if (!fine)
        gradus_json_take_error (spec, g_steal_pointer (&error));
    }
}

/* All columns that are nothing else. */
static void
add_rest (TableSource *self, GradusJsonObject *spec)
{
  g_autoptr (GArray) columns = g_array_new (FALSE, FALSE, sizeof (guint));
  g_autoptr (GError) error = NULL;

  for (guint c = 0; c < self->csv->n_columns; c++)
    if (!self->used[c])
      g_array_append_val (columns, c);
  if (columns->len == 0)
    gradus_json_refuse (spec, NULL, _ ("%s has no column left for the input."), self->csv->file.path);
  else if (!add_numbers (self, TRUE, "inputs", columns, &error))
    gradus_json_take_error (spec, g_steal_pointer (&error));
}

static void
read_weights (TableSource *self, GradusJsonObject *spec)
{
  const char *name = gradus_json_string (spec, "weights", NULL);
  int         c = find_column (self, spec, "weights", name);
  g_autoptr (GError) error = NULL;

  if (c < 0)
    return;
  self->weights = allocate (self->csv->n_rows, sizeof (float), &error);
  for (gint64 row = 0; row < self->csv->n_rows && error == NULL; row++)
    {
      double number;

      if (!gradus_csv_number (gradus_csv_cell (self->csv, row, c), &number) || number < 0)
        refuse_cell (self, &error, row, c, _ ("A weight is a number of at least 0."));
      else
        self->weights[row] = (float) number;
    }
  self->parent.weights = self->weights;
  if (error != NULL)
    gradus_json_take_error (spec, g_steal_pointer (&error));
}

static gboolean
table_read (GradusSource *source,
            const gint64 *samples,
            guint         n,
            void *const  *inputs,
            void *const  *targets,
            GError      **error)
{
  TableSource *self = (TableSource *) source;

  for (guint k = 0; k < source->n_inputs + source->n_targets; k++)
    {
      gboolean     input = k < source->n_inputs;
      guint        at = input ? k : k - source->n_inputs;
      void *const *wanted = input ? inputs : targets;
      gsize bytes = gradus_array_spec_bytes (input ? &source->inputs[at] : &source->targets[at]);

      for (guint i = 0; i < n && wanted != NULL && wanted[at] != NULL; i++)
        memcpy ((char *) wanted[at] + i * bytes, (char *) self->arrays[k] + samples[i] * bytes, bytes);
    }
  return TRUE;
}

static const void *
table_peek (GradusSource *source, guint k, gint64 sample)
{
  gboolean input = k < source->n_inputs;

  return (char *) ((TableSource *) source)->arrays[k]
         + sample
               * gradus_array_spec_bytes (input ? &source->inputs[k]
                                                : &source->targets[k - source->n_inputs]);
}

static gboolean
table_fingerprint (GradusSource *source, GChecksum *checksum, GError **error)
{
  return gradus_file_fingerprint (&((TableSource *) source)->csv->file, checksum, error);
}

static char *
table_place (GradusSource *source, gint64 sample)
{
  TableSource *self = (TableSource *) source;

  return g_strdup_printf (_ ("%s, line %u, column “%s”"), self->csv->file.path, self->csv->lines[sample],
                          self->csv->names[self->target_column]);
}

static const char *
table_text (GradusSource *source, gint64 sample)
{
  TableSource *self = (TableSource *) source;

  return gradus_csv_cell (self->csv, sample, self->text_column);
}

static void
table_take_words (GradusSource *source, guint length, gint32 *words, gint32 *lengths)
{
  TableSource *self = (TableSource *) source;

  self->arrays[0] = words;
  self->lengths = lengths;
  source->lengths = lengths;
  source->inputs[0].dims[0] = length;
  source->resident += source->n_samples * (length + 1) * sizeof *words;
}

static void
table_free (GradusSource *source)
{
  TableSource *self = (TableSource *) source;

  for (guint k = 0; k < G_N_ELEMENTS (self->arrays); k++)
    {
      g_free (self->arrays[k]);
      g_free (self->names[k]);
    }
  g_clear_pointer (&self->columns, g_hash_table_unref);
  g_clear_pointer (&self->csv, gradus_csv_free);
  g_strfreev (self->missing);
  g_strfreev (self->categorical);
  g_free (self->weights);
  g_free (self->lengths);
  g_free (self->used);
  g_free (self);
}

static const GradusSourceFuncs table_funcs = {
  .read = table_read,
  .peek = table_peek,
  .fingerprint = table_fingerprint,
  .place = table_place,
  .free = table_free,
  .text = table_text,
  .take_words = table_take_words,
};

static char **
read_strings (GradusJsonObject *spec, const char *key, const char *const *fallback)
{
  g_autoptr (GradusJsonArray) list = gradus_json_array (spec, key, GRADUS_CSV_MAX_COLUMNS);
  g_autoptr (GStrvBuilder) strings = g_strv_builder_new ();

  if (list == NULL)
    return g_strdupv ((char **) fallback);
  for (guint i = 0; i < gradus_json_array_length (list); i++)
    {
      const char *string = gradus_json_array_string (list, i);

      if (string != NULL)
        g_strv_builder_add (strings, string);
    }
  return g_strv_builder_end (strings);
}

static char
read_delimiter (GradusJsonObject *spec)
{
  const char *text = gradus_json_string (spec, "delimiter", "auto");

  if (g_str_equal (text, "auto"))
    return 0;
  if (strlen (text) != 1 || *text == '"' || *text == '\n' || *text == '\r' || (guchar) *text > 127)
    gradus_json_refuse (spec, "delimiter", _ ("One character such as “,” or “auto” is expected."));
  return *text;
}

static int
read_header (GradusJsonObject *spec)
{
  static const char *const words[] = { "auto", NULL };
  JsonNode                *node = gradus_json_node (spec, "header");

  if (node != NULL && JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_BOOLEAN)
    return gradus_json_bool (spec, "header", FALSE);
  gradus_json_enum (spec, "header", words, 0);
  return -1;
}

static void
add_all (TableSource *self, GradusJsonObject *spec, gboolean text, GradusSource *train)
{
  if (text)
    {
      int c = find_column (self, spec, "column", gradus_json_string (spec, "column", NULL));

      if (c < 0)
        return;
      self->text_column = c;
      self->parent.is_text = TRUE;
      *add_array (self, TRUE, "inputs", NULL) = (GradusArraySpec){ .dtype = GRADUS_DTYPE_INT32, .rank = 1 };
    }
  else if (gradus_json_has (spec, "inputs"))
    add_arrays (self, spec, "inputs", train);
  else
    {
      /* Which columns are left is known only when the others are. */
      JsonNode         *node = gradus_json_node (spec, "targets");
      GradusJsonObject *targets =
          JSON_NODE_HOLDS_OBJECT (node) ? gradus_json_object (spec, "targets") : NULL;
      g_autoptr (GList) names =
          targets != NULL ? json_object_get_members (gradus_json_peek (targets)) : NULL;

      if (targets == NULL)
        g_array_unref (find_columns (self, spec, "targets"));
      for (GList *l = names; l != NULL; l = l->next)
        g_array_unref (find_columns (self, targets, l->data));
      g_clear_pointer (&targets, gradus_json_object_free);
      if (!gradus_json_failed (spec))
        add_rest (self, spec);
    }
  if (!gradus_json_failed (spec))
    add_arrays (self, spec, "targets", train);
}

/* Names are known only when all arrays are there. */
static void
finish (TableSource *self)
{
  GradusSource *source = &self->parent;
  Column       *column;

  for (guint k = 0; k < source->n_inputs; k++)
    source->inputs[k].name = self->names[k];
  for (guint k = 0; k < source->n_targets; k++)
    source->targets[k].name = self->names[source->n_inputs + k];
  if (source->n_targets != 1 || source->targets[0].rank != 0)
    return;
  column = g_hash_table_lookup (self->columns, self->csv->names[self->target_column]);
  if (column->categories == NULL)
    return;
  source->n_classes = MAX (column->categories->len, 1);
  source->class_names = g_new0 (char *, column->categories->len + 1);
  for (guint i = 0; i < column->categories->len; i++)
    source->class_names[i] = g_strdup (column->categories->pdata[i]);
}

GradusSource *
gradus_table_source_open (GradusJsonObject *spec,
                          const char       *base,
                          gboolean          text,
                          GradusSource     *train,
                          GError          **error)
{
  static const char *const missing[] = { "", "NA", "NaN", "nan", "null", NULL };
  TableSource             *self = g_new0 (TableSource, 1);
  g_autoptr (GError) problem = NULL;
  g_autofree char *path = NULL;
  char             delimiter = read_delimiter (spec);
  int              header = read_header (spec);

  self->parent.funcs = &table_funcs;
  self->columns = train != NULL && train->funcs == &table_funcs
                      ? g_hash_table_ref (((TableSource *) train)->columns)
                      : g_hash_table_new_full (g_str_hash, g_str_equal, g_free, column_free);
  self->missing = read_strings (spec, "missing", missing);
  self->categorical = read_strings (spec, "categorical", NULL);
  gradus_json_require (spec, "file", "targets", text ? "column" : NULL, NULL);
  if (!gradus_json_failed (spec))
    {
      path = g_canonicalize_filename (gradus_json_string (spec, "file", ""), base);
      self->csv = gradus_csv_read (path, delimiter, header, &problem);
      if (self->csv == NULL)
        gradus_json_take_error (spec, g_steal_pointer (&problem));
    }
  if (self->csv != NULL)
    {
      self->parent.n_samples = self->csv->n_rows;
      self->parent.resident = self->csv->bytes;
      self->used = g_new0 (gboolean, self->csv->n_columns);
      read_weights (self, spec);
      for (guint i = 0; self->categorical != NULL && self->categorical[i] != NULL; i++)
        if (gradus_csv_column (self->csv, self->categorical[i]) < 0)
          gradus_json_refuse (spec, "categorical", _ ("%s has no column “%s”."), path, self->categorical[i]);
      if (!gradus_json_failed (spec))
        add_all (self, spec, text, train);
    }
  if (gradus_json_check (spec, error))
    {
      finish (self);
      return &self->parent;
    }
  gradus_source_free (&self->parent);
  return NULL;
}
