"""The command line `kipwire`: it shows what bytes mean, in files and captures as in single messages, without specs.

To add a command, write it with click's decorators: here if it needs only bytes, in `kipgen.commands` if it needs specs.
Add its line to `app.py` there, with its place and the first sentence of its help; it is imported when it is called.
`kipwire/cli/command_line.py` has what all commands share: exit statuses, errors, Ctrl-C, pipes. `brokers` has what
those share that talk to brokers by `kipwire.cluster`: options, and how they run. `kipwire/cli/apis.py` finds APIs by
what people call them. `tests/generator/commands/test_growth_of_commands.py` and `test_pipes.py` ask for rows about the
command, docs/commands.md for its exit statuses.
"""
