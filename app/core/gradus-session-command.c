/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-session-private.h"

#include "gradus-json.h"

#include <glib/gi18n-lib.h>
#include <math.h>

static const char *const names[] = { "pause", "resume", "step", "stop", "checkpoint", "set", NULL };

static const GradusCommandType types[] = { GRADUS_COMMAND_PAUSE,      GRADUS_COMMAND_RESUME,
                                           GRADUS_COMMAND_STEP,       GRADUS_COMMAND_STOP,
                                           GRADUS_COMMAND_CHECKPOINT, GRADUS_COMMAND_SET };

GradusCommand *
gradus_command_parse (const char *text, gint64 id, GError **error)
{
  g_autoptr (JsonNode) root = gradus_json_parse (text, -1, _ ("the command"), error);
  g_autoptr (GradusJsonObject) object = NULL;
  g_autoptr (GradusCommand) command = NULL;
  int which = 0;

  if (root == NULL)
    return NULL;
  object = gradus_json_open (root, _ ("the command"), error);
  if (object == NULL)
    return NULL;
  gradus_json_require (object, "command", NULL);
  which = gradus_json_enum (object, "command", names, 0);
  command = g_new0 (GradusCommand, 1);
  command->type = types[which];
  command->id = id;
  if (command->type == GRADUS_COMMAND_SET)
    {
      JsonNode *value = gradus_json_node (object, "value");

      gradus_json_require (object, "name", NULL);
      command->option = g_strdup (gradus_json_string (object, "name", NULL));
      /* Null gives an option back to what the recipe says. */
      if (value == NULL || !JSON_NODE_HOLDS_NULL (value))
        gradus_json_require (object, "value", NULL);
      command->value = gradus_json_double (object, "value", -G_MAXDOUBLE, G_MAXDOUBLE, NAN);
    }
  return gradus_json_end (object, error) ? g_steal_pointer (&command) : NULL;
}

void
gradus_command_free (GradusCommand *command)
{
  if (command == NULL)
    return;
  g_free (command->option);
  g_free (command);
}
