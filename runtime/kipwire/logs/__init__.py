"""The logs of brokers as they lie on disk: names of files, logs that grow, and the records of internal topics."""
