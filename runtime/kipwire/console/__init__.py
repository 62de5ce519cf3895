"""The command line `kipwire`: it shows what bytes mean, without specs."""
