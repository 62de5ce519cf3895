"""The command line `kipwire`: it shows what bytes mean, in files and captures as in single messages, without specs."""
