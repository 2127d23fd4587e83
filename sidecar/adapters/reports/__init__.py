"""What a run of a project's own tool says: how it is asked to report, and how its report is read.

One module for each form of report; `tools` is the table of who writes which.

The laws of this package:

- A report is asked for only where the line is one simple, known command. Nothing is added to any other line.
- A report is written by what is being checked. It is bounded, read with suspicion, and where it is broken it
  is none: the text is read instead.
- Names of what fails are the same in the next run: no line numbers, addresses, durations or folders.
- Nothing here decides but two things: "nothing was executed" is not a pass, "could not start" is no failure.
"""
