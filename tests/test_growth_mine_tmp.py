import tests.generator.commands.test_growth_of_commands as t
for k in list(t.COMMANDS):
    if not k.startswith("call"): del t.COMMANDS[k]
from tests.generator.commands.test_growth_of_commands import *
