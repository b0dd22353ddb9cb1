/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-cli.h"
#include "gradus-json.h"

#include <glib/gi18n-lib.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct
{
  const char *name;
  int (*run) (int argc, char **argv);
  const char *arguments;
  const char *help;
} commands[] = {
  { "train", gradus_cli_train, N_ ("RECIPE.json"),
    N_ ("Train a model and keep everything in the log") },
  { "runs", gradus_cli_runs, N_ ("[list | show RUN | delete RUN | export RUN --to FORMAT FILE]"),
    N_ ("List, show, delete and export runs") },
  { "evaluate", gradus_cli_evaluate, N_ ("MODEL --data RECIPE.json"),
    N_ ("Measure a trained model on data") },
  { "infer", gradus_cli_infer, N_ ("MODEL --input NAME=FILE.npy... --output DIR"),
    N_ ("Let a trained model answer for NumPy arrays") },
  { "export", gradus_cli_export, N_ ("MODEL --to FORMAT FILE"), N_ ("Take a trained model away") },
  { "check", gradus_cli_check, N_ ("RECIPE.json"),
    N_ ("Show model, data and memory of a recipe without training") },
  { "bench", gradus_cli_bench, N_ ("[NAME]"), N_ ("Run the benchmarks and print JSON") },
  { "doctor", gradus_cli_doctor, N_ ("[--train]"),
    N_ ("Say what this machine has, and whether everything works") },
};

static void
print_help (void)
{
  g_print (_ (
      "Usage:\n  gradus-cli COMMAND …\n\nTrains neural networks and looks after their runs.\n\n"));
  g_print ("%s\n", _ ("Commands:"));
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    g_print ("  %s %s\n      %s\n", commands[i].name, _ (commands[i].arguments),
             _ (commands[i].help));
  g_print (
      "\n%s\n",
      _ ("MODEL is a checkpoint's file, RUN, RUN@STEP or RUN@best, or an exported file.\n"
         "RUN is a run's name if only one has it, its uuid, or its number.\n"
         "The exit status is 0 when done, 1 when the run failed, 2 when the input was refused.\n"
         "“gradus-cli COMMAND --help” says more about a command."));
}

static int
unknown (const char *name)
{
  const char *names[G_N_ELEMENTS (commands) + 1] = { NULL };
  const char *near = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    names[i] = commands[i].name;
  near = gradus_json_nearest (name, names);
  if (near != NULL)
    gradus_cli_complain (_ ("There is no command “%s”; did you mean “%s”?"), name, near);
  else
    gradus_cli_complain (_ ("There is no command “%s”. See “gradus-cli --help”."), name);
  return GRADUS_CLI_REFUSED;
}

/* What could not be written must not pass for done; wherever the program ends. */
static void
close_output (void)
{
  struct stat info;
  gboolean    failed = fflush (stdout) != 0;

  if (!failed && !ferror (stdout))
    return;
  /* Whoever closed the pipe knows. */
  if (fstat (STDOUT_FILENO, &info) == 0 && (S_ISFIFO (info.st_mode) || S_ISSOCK (info.st_mode)))
    return;
  clearerr (stdout);
  gradus_cli_complain (_ ("The output could not be written. Is the disk full?"));
  _exit (GRADUS_CLI_FAILED);
}

int
main (int argc, char **argv)
{
  /* Where the translations of a build that is not installed are. */
  const char *localedir = g_getenv ("GRADUS_LOCALEDIR");

  setlocale (LC_ALL, "");
  /* Numbers are for programs too. */
  setlocale (LC_NUMERIC, "C");
  bindtextdomain (GETTEXT_PACKAGE, localedir != NULL ? localedir : GRADUS_LOCALEDIR);
  bind_textdomain_codeset (GETTEXT_PACKAGE, "UTF-8");
  textdomain (GETTEXT_PACKAGE);
  g_set_prgname ("gradus-cli");
  atexit (close_output);
  /* Others end with their reader, as programs do; to a run a closed pipe is no reason to be lost. */
  if (argc > 1 && g_str_equal (argv[1], "train"))
    signal (SIGPIPE, SIG_IGN);

  if (argc < 2)
    {
      print_help ();
      return GRADUS_CLI_REFUSED;
    }
  if (g_str_equal (argv[1], "--help") || g_str_equal (argv[1], "-h")
      || g_str_equal (argv[1], "help"))
    {
      print_help ();
      return GRADUS_CLI_DONE;
    }
  if (g_str_equal (argv[1], "--version"))
    {
      g_print ("gradus-cli %s\n", GRADUS_VERSION);
      return GRADUS_CLI_DONE;
    }
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    if (g_str_equal (argv[1], commands[i].name))
      return commands[i].run (argc - 1, argv + 1);
  return unknown (argv[1]);
}
