"""Several processes that read the pieces of a plan, in the order of the plan, as if one had read them.

They are neither forks of this one, which may have threads, nor does the main module of the program run again in them: a
new Python imports what reads, and forks itself before it has threads. They live as long as their sockets.

`readers` is the side of the process that wants rows, `worker` the side of one that reads, `exchange` between them.
"""

from kipwire.tables.processes.exchange import Read
from kipwire.tables.processes.readers import PIECE, Readers, all_cores, read_pieces

__all__ = ["PIECE", "Read", "Readers", "all_cores", "read_pieces"]
