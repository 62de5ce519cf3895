"""Parts that the programs kipwire, kipgen and kipspark share: options, output, tables. No part knows a command."""
