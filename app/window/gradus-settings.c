/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gstdio.h>

#include "gradus-settings.h"

#define COMPILED_SCHEMA "/io/github/gradus/Gradus/gschemas.compiled"

/* GIO reads compiled schemas from folders only, and maps the file: once open it may go. */
static GSettingsSchema *
load_inner_schema (void)
{
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GSettingsSchemaSource) source = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *folder = NULL;
  g_autofree char *file = NULL;
  GSettingsSchema *schema = NULL;

  bytes = g_resources_lookup_data (COMPILED_SCHEMA, G_RESOURCE_LOOKUP_FLAGS_NONE, &error);
  if (bytes != NULL)
    folder = g_dir_make_tmp ("gradus-XXXXXX", &error);
  if (folder != NULL)
    {
      file = g_build_filename (folder, "gschemas.compiled", NULL);
      if (g_file_set_contents (file, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes),
                               &error))
        source = g_settings_schema_source_new_from_directory (folder, NULL, TRUE, &error);
      g_unlink (file);
      g_rmdir (folder);
    }
  if (source != NULL)
    schema = g_settings_schema_source_lookup (source, GRADUS_APP_ID, FALSE);

  if (schema == NULL)
    g_error ("The settings cannot be described: %s",
             error != NULL ? error->message : "the schema is not in the program");

  return schema;
}

GSettings *
gradus_settings_get (void)
{
  static GSettings *settings = NULL;

  if (settings == NULL)
    {
      GSettingsSchemaSource *desktop = g_settings_schema_source_get_default ();
      g_autoptr (GSettingsSchema) schema = NULL;

      if (desktop != NULL)
        schema = g_settings_schema_source_lookup (desktop, GRADUS_APP_ID, TRUE);
      if (schema == NULL)
        schema = load_inner_schema ();
      settings = g_settings_new_full (schema, NULL, NULL);
    }

  return settings;
}

char *
gradus_settings_find_resource (const char *name)
{
  const char *roots[] = { GRADUS_SOURCE_RESOURCES, GRADUS_DATADIR };

  for (guint i = 0; i < G_N_ELEMENTS (roots); i++)
    {
      g_autofree char *path = g_build_filename (roots[i], name, NULL);

      if (g_file_test (path, G_FILE_TEST_EXISTS))
        return g_steal_pointer (&path);
    }

  return NULL;
}
