"""The documentation site: the README, the pages of docs/, and pages made of specs and code (`make docs`).

To write a page, put it into docs/; a link to it into README's table "What you can do with it", whose rows are the
groups of the menu; and its name into `KINDS` of `guides.py`: a page teaches, helps to do something, states facts or
explains, and does one of these. `make docs` adds the generated pages and must end without a warning.

Samples are tests. Blocks of `python` and `sh` must succeed; blocks of `console` are sessions, which must print what is
shown; in all others commands, options and imports must exist. The samples of a page share one folder, with `schemas/`
and `examples/` in it. The line `<!-- not run: REASON -->` stands before one that cannot be run.

`python -m docs.site.connection_states` draws the states of connections again, `python -m docs.site.home` records the
terminal of the first screen, and `make conformance` writes what the scoreboard shows.
"""
