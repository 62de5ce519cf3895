"""The generator: from a folder of specs to a package of Python classes.

A spec goes through numbered stages. Each gets data from the one before, never changes it, and imports no later one. 1
to 5 are modules of `reading`, 7 to 9 of `python`. `[tool.importlinter]` in pyproject.toml has the order of
the rooms, and `make lint` checks it.

1. `reading.source`: a file -> a `Document`, the values of its JSON with the location of every key and value. So each
   later problem names a line and a column.
2. `reading.schema_check`: a `Document` -> a `SchemaCheck`, the violations of schemas/message-spec.schema.json, in our
   words. Texts with a grammar, such as version ranges and types, are left to the next stage.
3. `reading.parse`: both -> a `Draft`, which is a `MessageSpec` with locations and with marks on broken parts. Reading
   goes on after a mistake, so that one run shows all.
4. `reading.rules`: drafts -> `Finding`s. A rule is a function with a sentence, a good and a bad example, which are its
   tests. Most judge one message, some all of a folder, some an enum. `reading.check` runs 1 to 4.
5. `reading.parse.build_message`: a draft without errors -> a `language.spec.MessageSpec`, in which every default of the
   language is filled in.
6. `resolve.wire`: a `MessageSpec` and one version -> a class, with the `FIELDS` of the one to be generated, and without
   a codec. All version logic ends here: no later stage has a version range, and `same_form` compares two versions. What
   sets record formats apart becomes arguments of `Field` here, too. The plan of the class, from
   `kipwire.description.plan`, is what all later stages read, as the kernel does: its items, exactly as on the wire.
7. `python.steps`: the items of a plan -> `Step`s, the order in which straight-line Python reads or writes them; numbers
   of a fixed width side by side become one call of the `struct` module.
8. `python.pymodel`: a class -> a `PyStruct`, with its declarations, its steps and its `FIELDS`. Python's names begin
   here: a `PyField` is an item that has them.
9. `python.render`: `PyStruct`s and templates/ -> the text of each module, as black formats it. A version that is the
   same as the one before gets a short module that refers to it. read.py.j2 begins with what the variables of generated
   code mean.
10. `package.generate`: all texts and the package as it is -> `PackageChanges`, and from these the files. Files are
    replaced whole, the manifest last, so that a run that breaks off is finished by the next
    (`test_a_run_that_breaks_off_is_finished_by_the_next`). The manifest has a hash of each spec, of each file, and of
    the generator itself: `package.manifest.made_by` says what makes generated code stale. With `--check` nothing of
    earlier runs is trusted.

Problems. A spec has problems, and no stage raises an exception because of one. Stages 1 to 4 return
`language.problems.Problem`s, `check` puts them in the order of their locations, and `commands.reporting` prints them.
From stage 5 on nothing can be wrong with a spec: whatever the rules accept must become working classes
(`test_an_accepted_spec_gives_working_classes`). A mistake that shows only later therefore needs a rule. In generation
itself, only `package_folder.Obstacle`s are reported, about files that are in the way.

What is trusted. Texts of specs reach Python source through `code.fit` alone: a template can print a word, a number, or
`Code` whose maker has escaped what is in it; anything else raises (test_generated_code_is_safe.py). The generator
imports neither the code that it generates nor, apart from its commands, what reads messages.

To add a property of specs: its name in the JSON Schema (2), its attribute in `language.spec` or
`language.layout_properties` and its reading in `parse` (3), its rules (4), what it means for one version in
`resolve.wire` (6). If the bytes depend on it, a step (7) and its code in the templates (9); `FIELDS` say it to
everything at run time that reads no generated code (8). The head of `language.layout_properties` has the places for a
property of record formats one by one, the head of `kipwire/model/types.py` the places for a type.

`data` is another way on from stage 6: the plans of a package as one JSON document, for programs in other
languages (docs/resolved.md). It refers to nothing of Python.

`language` has the data that all stages share, and imports none of them. `commands` has the command line: it calls the
stages, prints, and sets exit statuses. Next to them `commands.compat` compares two revisions of specs by the plans of
their classes (6), and `commands.drift` compares specs with Kafka's own.
"""
