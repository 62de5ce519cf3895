"""Logs, captures and the files beside them as Arrow batches, and columns of bytes as columns of messages.

`files` finds paths, on this machine and in stores, `sources` reads what is there as Arrow batches, and `messages`
decodes columns of bytes and encodes them again. No engine is in here: `kipjobs` and `kipspark` make tables of it.

`pip install 'kipwire[tables]'` brings pyarrow and numpy.
"""
