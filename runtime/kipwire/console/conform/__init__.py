"""The command `kipwire conform`: asks a program, in any language, what it makes of vectors.

* `program`: a process that is asked, and started again when it dies; what it says is bounded in time and size.
* `questions`: from vectors to questions, and from answers to verdicts.
* `results`: verdicts counted by message and version; lists of expected failures.
* `text`, `page`: what is printed, and the matrix as a page.
"""
