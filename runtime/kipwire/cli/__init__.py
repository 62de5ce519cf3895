"""What the programs kipwire, kipgen and kipspark share: commands, options, output, tables; it knows no command."""
