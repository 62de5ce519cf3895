"""What `kipwire dump` needs: log segments and captures, line by line."""
