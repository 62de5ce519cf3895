"""The command `kipwire conform`: tests a program, in any language, with vectors.

* `program`: a process that answers questions, started again when it dies; its answers are bounded in time and size.
* `questions`: from vectors to questions, and from answers to verdicts.
* `results`: verdicts counted by message and version; lists of expected failures.
* `text`, `page`: the printed report, and the matrix as a page.
"""
